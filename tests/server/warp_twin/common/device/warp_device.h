// common/device/warp_device.h as a group of 32 members has it, on a host: in a member of a twin
// group (warp_twin.h) these functions meet the other 31, elsewhere they are a host's.
//
// Why: what only a device does, such as a message of which a look finds all slots at once, runs
// without one. How: this folder is looked in first, by one test. The libraries that it links hold
// the same functions for groups of one; outside a twin group both mean the same.
#pragma once

#include "common/bits.h"
#include "common/hd.h"
#include "tests/server/warp_twin/warp_twin.h"

#include <cstdint>

namespace gcoord {

inline std::uint32_t warp_lanes() {
  return twin::in_group() ? twin::kLanes : 1;
}

inline std::uint32_t warp_rank() {
  return twin::in_group() ? twin::rank() : 0;
}

inline void warp_sync() {
  if (twin::in_group()) {
    twin::gather(twin::Meeting::Sync, 0);
  }
}

inline void block_meet() {
  if (twin::in_group()) {
    static_cast<void>(twin::gather_block(twin::Meeting::Block, false));
  }
}

inline bool block_any(bool answer) {
  return twin::in_group() ? twin::gather_block(twin::Meeting::BlockAny, answer) : answer;
}

inline std::uint32_t warp_ballot(bool answer) {
  if (!twin::in_group()) {
    return answer ? 1 : 0;
  }
  const std::uint64_t* said = twin::gather(twin::Meeting::Ballot, answer ? 1 : 0);
  std::uint32_t bits = 0;
  for (std::uint32_t lane = 0; lane < twin::kLanes; ++lane) {
    bits |= static_cast<std::uint32_t>(said[lane]) << lane;
  }
  return bits;
}

inline std::uint64_t warp_broadcast(std::uint64_t value, std::uint32_t from) {
  if (!twin::in_group()) {
    return from == 0 ? value : 0;
  }
  return twin::gather(twin::Meeting::Broadcast, value)[from % twin::kLanes];
}

inline std::uint32_t warp_broadcast(std::uint32_t value, std::uint32_t from) {
  return static_cast<std::uint32_t>(warp_broadcast(std::uint64_t{value}, from));
}

inline std::uint64_t warp_sum(std::uint64_t value) {
  if (!twin::in_group()) {
    return value;
  }
  const std::uint64_t* said = twin::gather(twin::Meeting::Sum, value);
  std::uint64_t sum = 0;
  for (std::uint32_t lane = 0; lane < twin::kLanes; ++lane) {
    sum += said[lane];
  }
  return sum;
}

inline std::uint32_t warp_sum(std::uint32_t value) {
  return static_cast<std::uint32_t>(warp_sum(std::uint64_t{value}));
}

inline std::uint32_t leading_run(std::uint32_t bits, std::uint32_t limit) {
  const std::uint32_t first_zero =
      bits == ~0u ? 32u : static_cast<std::uint32_t>(__builtin_ctz(~bits));
  return first_zero < limit ? first_zero : limit;
}

inline std::uint32_t rank_among(std::uint32_t bits) {
  return count_bits(bits & ((1u << warp_rank()) - 1));
}

inline std::uint32_t warp_sum_below(std::uint32_t value) {
  if (!twin::in_group()) {
    return 0;
  }
  const std::uint64_t* said = twin::gather(twin::Meeting::SumBelow, value);
  std::uint32_t sum = 0;
  for (std::uint32_t lane = 0; lane < twin::rank(); ++lane) {
    sum += static_cast<std::uint32_t>(said[lane]);
  }
  return sum;
}

inline std::uint32_t warp_match(std::uint32_t value) {
  if (!twin::in_group()) {
    return 1;
  }
  const std::uint64_t* said = twin::gather(twin::Meeting::Match, value);
  std::uint32_t bits = 0;
  for (std::uint32_t lane = 0; lane < twin::kLanes; ++lane) {
    bits |= (said[lane] == value ? 1u : 0u) << lane;
  }
  return bits;
}

inline std::uint64_t warp_least(std::uint64_t value) {
  if (!twin::in_group()) {
    return value;
  }
  const std::uint64_t* said = twin::gather(twin::Meeting::Least, value);
  std::uint64_t least = said[0];
  for (std::uint32_t lane = 1; lane < twin::kLanes; ++lane) {
    least = said[lane] < least ? said[lane] : least;
  }
  return least;
}

}  // namespace gcoord
