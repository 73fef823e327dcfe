// A service that counts and hashes 16-byte commands, and feeds itself, for tests and benchmarks.
//
// Entries are 16 random bytes of which one bit is kept for the no-op's mark. A replica's digest
// says whether it applied the same commands in the same order as another that applied as many. Two
// ways of feeding, both by the host's word while kernels run: every leader proposes `batch`
// commands in each of its steps; or one row alone proposes one command at a time, and the time from
// the turn that takes it up to its application on the leader is kept. Host and device; see
// device_turn_service.h.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "netcore/memory/bounded_wait.h"
#include "server/device_turn/service.h"

#include <cstdint>
#include <cstring>

namespace gcoord::chaos {

struct alignas(16) CountedEntry {
  std::uint64_t word[2];
};

// What a row of the service is.
struct alignas(16) CountedRow {
  std::uint64_t digest = 0;
  std::uint64_t count = 0;  // Commands applied.
};

// The host's word: how many commands a leader proposes in one step, or how many are to be timed.
constexpr std::uint64_t feed_order(std::uint32_t batch, std::uint32_t samples) {
  return batch | std::uint64_t{samples} << 32;
}

// One timed row's notes. One writer: the stripe of the row.
struct alignas(128) TimedFeed {
  std::uint64_t began_ns = 0;  // The command under way; 0: none.
  std::uint64_t index = 0;     // Where it lies in the log.
  std::uint64_t sampled = 0;
};

inline constexpr std::uint32_t kTimedSamples = 1u << 17;

struct CountingService {
  using Entry = CountedEntry;

  static constexpr std::uint32_t kEntriesKept = 0;
  static constexpr bool kTellsHost = false;
  static constexpr bool kReadmits = false;
  static constexpr bool kHashed = true;

  // In word[1]; commands keep its highest bit clear.
  static constexpr std::uint64_t kNoopMark = 0xffff'0000'0000'0001u;

  CountedRow* rows = nullptr;
  TimedFeed* timed = nullptr;
  std::uint32_t* sample_ns = nullptr;  // kTimedSamples of them.
  std::uint32_t timed_row = 0;
  std::uint64_t seed = 0;  // Differs between nodes: two leaders never propose the same.

  GCOORD_HD static Entry noop() { return {{0, kNoopMark}}; }

  GCOORD_HD static bool is_noop(const Entry& entry) { return entry.word[1] == kNoopMark; }

  GCOORD_HD static Entry command(const server::TurnRequest& request) {
    return {{request.word[0], request.word[1] << 1 >> 1}};
  }

  GCOORD_HD void begin_turn(std::uint32_t) const {}

  GCOORD_HD std::uint32_t offers(std::uint32_t row, std::uint64_t order) const {
    const auto batch = static_cast<std::uint32_t>(order);
    if (batch != 0 || row != timed_row) {
      return batch;
    }
    return timed->began_ns == 0 && timed->sampled < order >> 32 ? 1 : 0;
  }

  GCOORD_HD Entry offer(std::uint32_t row, LogIndex index, std::uint32_t k) const {
    const std::uint64_t one = random64(seed, row, index.value);
    static_cast<void>(k);
    return {{one, mix64(one) >> 1}};
  }

  GCOORD_HD void offering(std::uint32_t row) const {
    if (row == timed_row) {
      timed->began_ns = device_now_ns();
    }
  }

  // A command that was not taken, or one of many, is not timed.
  GCOORD_HD void offered(std::uint32_t row, LogIndex first, std::uint32_t count) const {
    if (row == timed_row && count == 1) {
      timed->index = first.value;
    } else if (row == timed_row) {
      timed->began_ns = 0;
    }
  }

  GCOORD_HD server::TurnResult apply(std::uint32_t row, LogIndex index, const Entry& entry) const {
    CountedRow one = rows[row];
    one.digest = mix64(one.digest ^ entry.word[0]) ^ entry.word[1];
    ++one.count;
    rows[row] = one;
    if (row == timed_row && timed->began_ns != 0 && timed->index == index.value) {
      const std::uint64_t sample = timed->sampled % kTimedSamples;
      sample_ns[sample] = static_cast<std::uint32_t>(device_now_ns() - timed->began_ns);
      timed->began_ns = 0;
      ++timed->sampled;
    }
    return {{one.count, one.digest}};
  }

  GCOORD_HD void save(std::uint32_t row, netcore::Slot& slot) const {
    std::memcpy(slot.bytes, &rows[row], sizeof(CountedRow));
  }

  GCOORD_HD void install(std::uint32_t row, const netcore::Slot& slot) const {
    std::memcpy(&rows[row], slot.bytes, sizeof(CountedRow));
  }
};

}  // namespace gcoord::chaos
