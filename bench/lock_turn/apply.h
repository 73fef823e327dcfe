// Applier of a device's turn: its stripes and decided lock commands, without the rest of a turn.
//
// As in a node (server/device_turn/drain_outbox.h): a stripe's tables are its own, its group makes
// one turn after another, and in a turn each row with something decided is applied by one member,
// up to kAppliedATurn entries in log order, by LockTurnService::apply_told; a row with much of it
// is applied by all members, by apply_together. Left out: consensus, messages, the log's pages, and
// telling the host. All members of a group call apply_stripe() together; on a host the group has
// one. Host and device; POD.
#pragma once

#include "common/bits.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/commands/entry_layout.h"
#include "server/device_turn/service.h"
#include "server/resident/node/lock_turn_service.h"

#include <cstdint>

namespace gcoord::bench {

// As kTurnApply of a node's turn.
inline constexpr std::uint32_t kAppliedATurn = 64;

// Such a row is a group's as long as it has more than one member applies in a turn.
inline constexpr std::uint32_t kTogetherLeast = kAppliedATurn;
inline constexpr std::uint32_t kNeverTogether = ~0u;

struct LockTurnWork {
  server::LockTurnService service;
  std::uint32_t stripe_count = 0;
  std::uint32_t row_count = 0;
  // Entries that a row must have decided for the whole group to apply them; kNeverTogether: none.
  std::uint32_t together = kTogetherLeast;
  // As LockTurnRows has them.
  const locks::LockEntry* entries = nullptr;
  const std::uint32_t* first = nullptr;
  const std::uint64_t* base = nullptr;
  std::uint32_t* done = nullptr;          // By row: entries that were applied; zero before.
  server::TurnResult* results = nullptr;  // One per entry.
};

// A row's entries as the service reads them: as a log of which nothing is missing.
struct RowEntries {
  const locks::LockEntry* entries = nullptr;  // Of the batch, from the row's first one on.
  std::uint64_t base = 0;

  GCOORD_HD locks::LockEntry operator()(LogIndex index) const {
    return entries[index.value - base - 1];
  }
};

GCOORD_HD inline RowEntries entries_of(const LockTurnWork& work, std::uint32_t row) {
  return {work.entries + work.first[row], work.base[row]};
}

GCOORD_HD inline std::uint32_t left_of(const LockTurnWork& work, std::uint32_t row) {
  return work.first[row + 1] - work.first[row] - work.done[row];
}

// Keeps the results of a row's next entries.
struct ResultKeeper {
  const LockTurnWork& work;
  const RowEntries& log;
  std::uint32_t row = 0;
  std::uint32_t before = 0;  // Entries that were applied.

  GCOORD_HD void told(std::uint32_t k, const server::TurnResult& result) const {
    work.results[work.first[row] + before + k] = result;
  }

  GCOORD_HD bool apply(std::uint32_t k) const {
    const LogIndex index{log.base + before + k + 1};
    server::TurnResult result;
    const bool done = work.service.apply_told(log, row, index, log(index), result);
    if (done) {
      told(k, result);
    }
    return done;
  }
};

// One member's share of a turn. Whether something of the row is left.
GCOORD_HD inline bool apply_row(const LockTurnWork& work, std::uint32_t row) {
  const RowEntries log = entries_of(work, row);
  const std::uint32_t left = left_of(work, row);
  const std::uint32_t before = work.done[row];
  const ResultKeeper keeper{work, log, row, before};
  std::uint32_t done = 0;
  GCOORD_UNROLL_BY(1)
  while (done < kAppliedATurn && done < left && keeper.apply(done)) {
    ++done;
  }
  work.done[row] = before + done;
  return done < left;
}

// The same by all members.
GCOORD_HD inline bool apply_row_together(const LockTurnWork& work, std::uint32_t row) {
  const RowEntries log = entries_of(work, row);
  const std::uint32_t left = left_of(work, row);
  const std::uint32_t before = work.done[row];
  const ResultKeeper keeper{work, log, row, before};
  const std::uint32_t done =
      work.service.apply_together(log, {row, LogIndex{log.base + before}, left}, keeper);
  warp_sync();  // All members have read how far it was.
  if (warp_rank() == 0) {
    work.done[row] = before + done;
  }
  warp_sync();
  return done < left;
}

// One turn of a stripe's rows. Whether this member left something; all say so of what is a group's.
GCOORD_HD inline bool apply_rows(const LockTurnWork& work, std::uint32_t first, std::uint32_t end) {
  bool left = false;
  for (std::uint32_t base = first; base < end; base += warp_lanes()) {
    const std::uint32_t row = base + warp_rank();
    const std::uint32_t waiting = row < end ? left_of(work, row) : 0;
    const bool together = waiting >= work.together;
    if (waiting != 0 && !together) {
      left = apply_row(work, row) || left;
    }
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t rows = warp_ballot(together); rows != 0; rows &= rows - 1) {
      left = apply_row_together(work, base + lowest_bit(rows)) || left;
    }
  }
  return left;
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
    left = apply_rows(work, first, end);
    warp_sync();
  }
}

}  // namespace gcoord::bench
