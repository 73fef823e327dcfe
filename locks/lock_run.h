// Applying the runs of a batch: one writer per shard, many at once.
//
// A writer claims windows of the free rows that cover what its run may take, applies the run's
// commands in log order with the same apply() as everywhere, and gives back what is left of its
// windows. Short runs have a thread each; a long run has a group (a warp): all members load its
// next commands into fast memory, work out their keys and look up their rows, and the first member
// applies them one after another. Long runs are claimed first, because one shard's run is a chain
// that nothing can shorten: under skewed names it decides when the batch ends.
//
// Contract: the stages of lock_batch.h came before; all members of a group call apply_runs()
// together. Nothing waits for another group. Host and device.
#pragma once

#include "common/device_atomic.h"
#include "common/hd.h"
#include "common/prefetch.h"
#include "common/warp_device.h"
#include "locks/lock_apply.h"
#include "locks/lock_batch.h"
#include "locks/lock_keys.h"

#include <cstdint>

namespace gcoord::locks {

// Runs of this class and above have a group each: 64 commands. Measured in docs/performance.md.
inline constexpr std::uint32_t kLongRunClass = 6;

// Commands of a long run that are made ready at a time.
inline constexpr std::uint32_t kWindowCommands = 32;

// Commands that are next in a long run; in memory that a group shares.
struct LockWindow {
  CommittedCommand entries[kWindowCommands];
  LockKeys keys[kWindowCommands];
  std::uint32_t places[kWindowCommands];
};

// What one writer owns while it applies a run.
struct LockWriter {
  RowWindow locks;
  RowWindow sessions;
  RowWindow requests;
  RowWindow name_blocks;
  IndexSpare lock_spare;
  std::uint64_t waiter_count = 0;  // Change of the number of waiters; wraps.
};

// A run to apply, or nothing (count 0) for this member. `together`: it is the whole group's.
struct RunClaim {
  LockRun run;
  bool together = false;
  bool found = false;  // The group has something; equal for all members.
};

// The tables as one writer sees them.
GCOORD_HD inline LockTables tables_of(const LockBatch& batch, LockWriter& writer) {
  LockTables tables = batch.tables;
  tables.locks.window = &writer.locks;
  tables.sessions.window = &writer.sessions;
  tables.requests.window = &writer.requests;
  tables.name_blocks.window = &writer.name_blocks;
  tables.lock_index.current.spare = &writer.lock_spare;
  tables.waiter_count = &writer.waiter_count;
  return tables;
}

GCOORD_HD inline RowWindow claim_rows(PoolEnds& ends, std::uint32_t count) {
  const std::uint32_t first = count == 0 ? 0 : relaxed_add(ends.claimed, count);
  return {.first = first, .next = first, .last = first + count};
}

GCOORD_HD inline void claim_windows(const LockBatch& batch,
                                    const LockDemand& demand,
                                    LockWriter& writer) {
  writer.locks = claim_rows(batch.ends->locks, demand.locks);
  writer.sessions = claim_rows(batch.ends->sessions, demand.sessions);
  writer.requests = claim_rows(batch.ends->requests, demand.requests);
  writer.name_blocks = claim_rows(batch.ends->name_blocks, demand.name_blocks);
}

// What a run may take; of a group's run each member adds up a part.
GCOORD_HD inline LockDemand demand_of(const LockBatch& batch, const RunClaim& claim) {
  const std::uint32_t step = claim.together ? warp_lanes() : 1;
  LockDemand demand;
  for (std::uint32_t i = claim.together ? warp_rank() : 0; i < claim.run.count; i += step) {
    demand += demand_of(batch.commands[batch.order[claim.run.first + i]].command);
  }
  if (claim.together) {
    demand.locks = warp_sum(demand.locks);
    demand.sessions = warp_sum(demand.sessions);
    demand.requests = warp_sum(demand.requests);
    demand.name_blocks = warp_sum(demand.name_blocks);
  }
  return demand;
}

// Rows that a writer claimed and did not take go to the end of the ring.
template <typename Pool>
GCOORD_HD inline void return_rows(const Pool& pool,
                                  const RowWindow& window,
                                  PoolEnds& ends,
                                  bool together) {
  std::uint32_t next = window.next;
  std::uint32_t count = window.last - window.next;
  std::uint32_t to = 0;
  if (count != 0 && (!together || warp_rank() == 0)) {
    to = relaxed_add(ends.returned, count);
  }
  if (together) {
    next = warp_broadcast(next, 0);
    count = warp_broadcast(count, 0);
    to = warp_broadcast(to, 0);
  }
  const std::uint32_t step = together ? warp_lanes() : 1;
  for (std::uint32_t i = together ? warp_rank() : 0; i < count; i += step) {
    pool.free_rows[(to + i) & pool.position_mask] = pool.row_at(next + i);
  }
}

GCOORD_HD inline void end_run(const LockBatch& batch,
                              const LockTables& tables,
                              const LockWriter& writer,
                              bool together) {
  tables.lock_index.current.release_spare();
  if (writer.waiter_count != 0) {
    relaxed_add(batch.ends->waiter_count, writer.waiter_count);
  }
  return_rows(tables.locks, writer.locks, batch.ends->locks, together);
  return_rows(tables.sessions, writer.sessions, batch.ends->sessions, together);
  return_rows(tables.requests, writer.requests, batch.ends->requests, together);
  return_rows(tables.name_blocks, writer.name_blocks, batch.ends->name_blocks, together);
}

// Makes commands from `base` on of the group's run ready; returns how many.
GCOORD_HD inline std::uint32_t fill_window(const LockBatch& batch,
                                           const LockTables& tables,
                                           const LockRun& run,
                                           std::uint32_t base,
                                           LockWindow& window) {
  const std::uint32_t left = run.count - base;
  const std::uint32_t count = left < kWindowCommands ? left : kWindowCommands;
  for (std::uint32_t i = warp_rank(); i < count; i += warp_lanes()) {
    const std::uint32_t place = batch.order[run.first + base + i];
    const CommittedCommand entry = batch.commands[place];
    LockKeys keys = make_keys(tables, entry.shard, entry.index, entry.command);
    keys.session_hint = find_session(tables, entry.shard, entry.command.session, keys);
    if (names_lock(entry.command.kind)) {
      keys.lock_hint = find_lock(tables, entry.shard, entry.command.name_hash, keys);
      prefetch(batch.payload + entry.name_offset);
    }
    window.entries[i] = entry;
    window.keys[i] = keys;
    window.places[i] = place;
  }
  return count;
}

GCOORD_HD inline void apply_place(const LockBatch& batch,
                                  const LockTables& tables,
                                  const CommittedCommand& entry,
                                  const LockKeys& keys,
                                  std::uint32_t place) {
  LockEvents events{.events = batch.events,
                    .capacity = batch.event_capacity,
                    .shared_count = &batch.state->event_count,
                    .places = batch.event_places,
                    .command = place};
  LockCommand command = entry.command;
  command.name = batch.payload + entry.name_offset;
  const LockReply reply = apply(tables, entry.shard, entry.index, command, keys, events);
  batch.replies[place] = reply;
  if (events.count != 0) {
    batch.event_counts[place] = events.count;
  }
  if (reply.code == LockCode::UnknownCommand) {
    relaxed_add(batch.state->unknown_count, 1);
  }
}

// Applies the next `count` commands of a run from `base` on: from the window, or straight from the
// batch where there is none.
GCOORD_HD inline void apply_some(const LockBatch& batch,
                                 const LockTables& tables,
                                 const LockRun& run,
                                 std::uint32_t base,
                                 std::uint32_t count,
                                 const LockWindow* window) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t at = run.first + base + i;
    const std::uint32_t place = window != nullptr ? window->places[i] : batch.order[at];
    const CommittedCommand& entry = window != nullptr ? window->entries[i] : batch.commands[place];
    LockKeys keys;
    if (window != nullptr) {
      keys = window->keys[i];
    } else {
      keys = make_keys(tables, entry.shard, entry.index, entry.command);
      prefetch(batch.commands + batch.order[i + 1 < count ? at + 1 : at]);
    }
    apply_place(batch, tables, entry, keys, place);
  }
}

GCOORD_HD inline void apply_claimed(const LockBatch& batch,
                                    const RunClaim& claim,
                                    LockWindow& window) {
  const bool together = claim.together;
  const bool writes = !together || warp_rank() == 0;
  const LockDemand demand = demand_of(batch, claim);
  LockWriter writer;
  const LockTables tables = tables_of(batch, writer);
  if (writes) {
    claim_windows(batch, demand, writer);
  }
  for (std::uint32_t base = 0; base < claim.run.count; base += kWindowCommands) {
    const std::uint32_t left = claim.run.count - base;
    std::uint32_t count = left < kWindowCommands ? left : kWindowCommands;
    if (together) {
      count = fill_window(batch, tables, claim.run, base, window);
      warp_sync();
    }
    if (writes) {
      apply_some(batch, tables, claim.run, base, count, together ? &window : nullptr);
    }
    if (together) {
      warp_sync();
    }
  }
  end_run(batch, tables, writer, together);
}

// The group's next runs of a class: one for all, or one each.
GCOORD_HD inline RunClaim claim_of_class(const LockBatch& batch, std::uint32_t run_class) {
  RunClaim claim;
  claim.together = run_class >= kLongRunClass;
  const std::uint32_t listed = batch.state->run_count[run_class];
  if (listed == 0) {
    return claim;
  }
  std::uint32_t place = 0;
  if (warp_rank() == 0) {
    place = relaxed_add(batch.state->run_claimed[run_class], claim.together ? 1 : warp_lanes());
  }
  place = warp_broadcast(place, 0);
  claim.found = place < listed;
  place += claim.together ? 0 : warp_rank();
  if (place < listed) {
    claim.run = batch.runs[first_run(batch.count, run_class) + place];
  }
  return claim;
}

// What a group does for a batch: claims runs, the longest first, and applies them until none is
// left.
GCOORD_HD inline void apply_runs(const LockBatch& batch, LockWindow& window) {
  if (batch.state->refused != 0) {
    return;
  }
  for (std::uint32_t run_class = kRunClasses; run_class-- > 0;) {
    for (std::uint32_t runs = 0; runs < batch.count; ++runs) {
      const RunClaim claim = claim_of_class(batch, run_class);
      if (!claim.found) {
        break;
      }
      apply_claimed(batch, claim, window);
    }
  }
}

}  // namespace gcoord::locks
