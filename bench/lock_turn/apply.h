// Applier of a device's turn: its stripes and decided lock commands, without the rest of a turn.
//
// As in a node (server/device_turn/drain_outbox.h): a stripe's tables are its own, its group makes
// one turn after another, and in a turn each row with something decided is applied by one member,
// up to kAppliedATurn entries in log order, by LockTurnService::apply_told. Left out: consensus,
// messages, the log's pages, and telling the host. All members of a group call apply_stripe()
// together; on a host the group has one. Host and device; POD.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/commands/entry_layout.h"
#include "server/device_turn/service.h"
#include "server/resident/node/lock_turn_service.h"

#include <cstdint>

namespace gcoord::bench {

// As kTurnApply of a node's turn.
inline constexpr std::uint32_t kAppliedATurn = 64;

struct LockTurnWork {
  server::LockTurnService service;
  std::uint32_t stripe_count = 0;
  std::uint32_t row_count = 0;
  // As LockTurnRows has them.
  const locks::LockEntry* entries = nullptr;
  const std::uint32_t* first = nullptr;
  const std::uint64_t* base = nullptr;
  std::uint32_t* done = nullptr;          // By row: entries that were applied; zero before.
  server::TurnResult* results = nullptr;  // One per entry.
};

// One member's share of a turn. Whether something of the row is left.
GCOORD_HD inline bool apply_row(const LockTurnWork& work, std::uint32_t row) {
  const std::uint32_t begin = work.first[row];
  const std::uint32_t count = work.first[row + 1] - begin;
  const std::uint64_t base = work.base[row];
  std::uint32_t done = work.done[row];
  const auto log = [entries = work.entries, begin, base](LogIndex earlier) {
    return entries[begin + (earlier.value - base - 1)];
  };
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < kAppliedATurn && done < count; ++k, ++done) {
    server::TurnResult result;
    if (!work.service.apply_told(
            log, row, LogIndex{base + done + 1}, work.entries[begin + done], result)) {
      break;
    }
    work.results[begin + done] = result;
  }
  work.done[row] = done;
  return done < count;
}

// Turns of a stripe until nothing is left, or the node that it stands for would have stopped.
GCOORD_HD inline void apply_stripe(const LockTurnWork& work, std::uint32_t stripe) {
  const std::uint32_t each = work.service.rows_per_stripe;
  const std::uint32_t first = stripe * each;
  const std::uint32_t end = first + each < work.row_count ? first + each : work.row_count;
  bool left = first < end;
  GCOORD_UNROLL_BY(1)
  while (warp_ballot(left && netcore::SystemOrder::peek(*work.service.abort) == 0) != 0) {
    if (warp_rank() == 0) {
      work.service.begin_turn(stripe);
    }
    warp_sync();
    left = false;
    for (std::uint32_t row = first + warp_rank(); row < end; row += warp_lanes()) {
      left = apply_row(work, row) || left;
    }
    warp_sync();
  }
}

}  // namespace gcoord::bench
