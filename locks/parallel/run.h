// Applying the runs of a batch: one writer per shard, many at once.
//
// A writer claims windows of the free rows that cover what its run may take, applies the run's
// commands in log order, and gives back what is left of its windows. Short runs have a thread each
// and the same apply() as everywhere. A long run has a group (a warp), because one shard's run is a
// chain and under skewed names it decides when the batch ends: all members make its next commands
// ready and decide them at once (lock_plan.h, lock_settle.h); what such a window cannot hold, the
// first member applies with apply(). Long runs are claimed longest first.
//
// Contract: the stages of lock_batch.h came before. All members of a group call apply_long_runs()
// together; apply_short_runs() takes a run a thread, in groups only to claim them. The two may run
// side by side. Nothing waits for another group. Host and device.
#pragma once

#include "common/device/device_atomic.h"
#include "common/device/prefetch.h"
#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/parallel/batch.h"
#include "locks/parallel/plan.h"
#include "locks/parallel/settle.h"
#include "locks/parallel/window.h"
#include "locks/state/apply.h"
#include "locks/state/keys.h"

#include <cstdint>

namespace gcoord::locks {

// Commands that the first member applies in a row after a window that was cut early: making a
// window ready costs about as much as applying half a command.
inline constexpr std::uint32_t kAppliedAlone = 8;

// How many windows ahead commands are fetched from memory; a window takes longer than that.
inline constexpr std::uint32_t kWindowsAhead = 4;

// Whether a run is one thread's or a whole group's.
enum class RunMembers : std::uint8_t { One, All };

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

GCOORD_HD inline RowWindow claim_rows(PoolTops& ends, std::uint32_t count) {
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

// What a group's run may take; each member adds up a part. Several at a time, so that their loads
// are under way together.
GCOORD_HD inline LockDemand demand_of_run(const LockBatch& batch, const LockRun& run) {
  constexpr std::uint32_t kTogether = 8;
  LockDemand demand;
  for (std::uint32_t base = warp_rank(); base < run.count; base += kTogether * warp_lanes()) {
    LockCommand heads[kTogether];
    GCOORD_UNROLL
    for (std::uint32_t j = 0; j < kTogether; ++j) {
      const std::uint32_t i = base + j * warp_lanes();
      if (i < run.count) {
        const LockCommand& command = batch.ready[run.first + i].command;
        heads[j].kind = command.kind;
        heads[j].flags = command.flags;
        heads[j].name_bytes = command.name_bytes;
        heads[j].hold_flags = command.hold_flags;
        heads[j].note_bytes = command.note_bytes;
      }
    }
    GCOORD_UNROLL
    for (std::uint32_t j = 0; j < kTogether; ++j) {
      demand += demand_of(heads[j]);
    }
  }
  demand.locks = warp_sum(demand.locks);
  demand.sessions = warp_sum(demand.sessions);
  demand.requests = warp_sum(demand.requests);
  demand.name_blocks = warp_sum(demand.name_blocks);
  return demand;
}

// Rows that a writer claimed and did not take go to the end of the ring.
template <typename Pool>
GCOORD_HD inline void return_rows(const Pool& pool,
                                  const RowWindow& window,
                                  PoolTops& ends,
                                  RunMembers members) {
  const bool together = members == RunMembers::All;
  const std::uint32_t count = window.last - window.next;
  std::uint32_t to = 0;
  if (count != 0 && (!together || warp_rank() == 0)) {
    to = relaxed_add(ends.returned, count);
  }
  if (together) {
    to = warp_broadcast(to, 0);
  }
  // Several at a time, so that their loads are under way together.
  constexpr std::uint32_t kTogether = 8;
  const std::uint32_t step = together ? warp_lanes() : 1;
  const std::uint32_t first = together ? warp_rank() : 0;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t base = first; base < count; base += kTogether * step) {
    std::uint32_t rows[kTogether];
    GCOORD_UNROLL
    for (std::uint32_t j = 0; j < kTogether; ++j) {
      const std::uint32_t i = base + j * step;
      rows[j] = i < count ? pool.row_at(window.next + i) : 0;
    }
    GCOORD_UNROLL
    for (std::uint32_t j = 0; j < kTogether; ++j) {
      const std::uint32_t i = base + j * step;
      if (i < count) {
        pool.free_rows[(to + i) & pool.position_mask] = rows[j];
      }
    }
  }
}

GCOORD_HD inline void end_run(const LockBatch& batch,
                              const LockTables& tables,
                              const LockWriter& writer,
                              RunMembers members) {
  if (members == RunMembers::One || warp_rank() == 0) {
    tables.lock_index.current.release_spare();
    if (writer.waiter_count != 0) {
      relaxed_add(batch.ends->waiter_count, writer.waiter_count);
    }
  }
  return_rows(tables.locks, writer.locks, batch.ends->locks, members);
  return_rows(tables.sessions, writer.sessions, batch.ends->sessions, members);
  return_rows(tables.requests, writer.requests, batch.ends->requests, members);
  return_rows(tables.name_blocks, writer.name_blocks, batch.ends->name_blocks, members);
}

// Fetches commands from `base` on of the group's run; returns how many. Rows that were found before
// the batch are looked at again: commands since may have changed whose they are.
GCOORD_HD inline std::uint32_t fill_window(const LockBatch& batch,
                                           const LockTables& tables,
                                           const LockRun& run,
                                           std::uint32_t base,
                                           LockWindow& window) {
  const std::uint32_t left = run.count - base;
  const std::uint32_t count = left < kWindowCommands ? left : kWindowCommands;
  each_place(count, [&](std::uint32_t i) {
    const std::uint32_t at = run.first + base + i;
    const CommittedCommand entry = batch.ready[at];
    LockKeys keys = batch.ready_keys[at];
    window.places[i] = batch.order[at];
    window.entries[i] = entry;
    keys.session_hint = find_session(tables, entry.shard, entry.command.session, keys);
    if (names_lock(entry.command.kind)) {
      keys.lock_hint = find_lock(tables, entry.shard, entry.command.name_hash, keys);
    }
    window.keys[i] = keys;
    if (left - i > kWindowsAhead * kWindowCommands) {
      prefetch(batch.ready + at + kWindowsAhead * kWindowCommands);
      prefetch(batch.ready_keys + at + kWindowsAhead * kWindowCommands);
      prefetch(batch.order + at + kWindowsAhead * kWindowCommands);
    }
  });
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

// Applies commands [first, last) of the window one after another.
GCOORD_HD inline void apply_alone(const LockBatch& batch,
                                  const LockTables& tables,
                                  const LockWindow& window,
                                  std::uint32_t first,
                                  std::uint32_t last) {
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = first; i < last; ++i) {
    apply_place(batch, tables, window.entries[i], window.keys[i], window.places[i]);
  }
}

// Applies commands of the group's run from `base` on; returns how many.
GCOORD_HD inline std::uint32_t apply_window(const LockBatch& batch,
                                            const LockTables& tables,
                                            const LockRun& run,
                                            std::uint32_t base,
                                            LockWindow& window) {
  const std::uint32_t count = fill_window(batch, tables, run, base, window);
  const ShardId shard{batch.sorted_shards[run.first]};
  const WindowWork work{batch, tables, window, shard, tables.shard(shard)};
  const WindowPlan plan = plan_window(work, count);
  if (plan.count != 0) {
    settle_window(work, plan);
  }
  if (!plan.cut) {
    return plan.count;
  }
  const std::uint32_t left = count - plan.count;
  const std::uint32_t worth = plan.count >= kAppliedAlone ? 1 : kAppliedAlone;
  const std::uint32_t alone = left < worth ? left : worth;
  first_member([&] { apply_alone(batch, tables, window, plan.count, plan.count + alone); });
  return plan.count + alone;
}

// The group's run.
GCOORD_HD inline void apply_long(const LockBatch& batch, const LockRun& run, LockWindow& window) {
  const LockDemand demand = demand_of_run(batch, run);
  const LockTables tables = tables_of(batch, window.writer);
  first_member([&] {
    window.writer = LockWriter{};
    window.planned_count = 0;
    claim_windows(batch, demand, window.writer);
  });
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t base = 0; base < run.count;) {
    base += apply_window(batch, tables, run, base, window);
  }
  end_run(batch, tables, window.writer, RunMembers::All);
  if (warp_rank() == 0) {
    relaxed_add(batch.state->planned_count, window.planned_count);
  }
  warp_sync();  // The next run's writer takes this one's place.
}

// One thread's run.
GCOORD_HD inline void apply_short(const LockBatch& batch, const LockRun& run) {
  LockWriter writer;
  const LockTables tables = tables_of(batch, writer);
  LockDemand demand;
  for (std::uint32_t i = 0; i < run.count; ++i) {
    demand += demand_of(batch.commands[batch.order[run.first + i]].command);
  }
  claim_windows(batch, demand, writer);
  for (std::uint32_t i = 0; i < run.count; ++i) {
    const std::uint32_t at = run.first + i;
    const std::uint32_t place = batch.order[at];
    const CommittedCommand& entry = batch.commands[place];
    const LockKeys keys = make_keys(tables, entry.shard, entry.index, entry.command);
    prefetch(batch.commands + batch.order[i + 1 < run.count ? at + 1 : at]);
    apply_place(batch, tables, entry, keys, place);
  }
  end_run(batch, tables, writer, RunMembers::One);
}

// Claims `wanted` runs of a class for the group; returns the first one's place.
GCOORD_HD inline std::uint32_t claim_of_class(const LockBatch& batch,
                                              std::uint32_t run_class,
                                              std::uint32_t wanted) {
  std::uint32_t place = 0;
  if (warp_rank() == 0) {
    place = relaxed_add(batch.state->run_claimed[run_class], wanted);
  }
  return warp_broadcast(place, 0);
}

// What a group does for the long runs of a batch: claims one after another, the longest first,
// until none is left.
GCOORD_HD inline void apply_long_runs(const LockBatch& batch, LockWindow& window) {
  if (batch.state->refused != 0) {
    return;
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t run_class = kRunClasses; run_class-- > batch.long_run_class;) {
    const std::uint32_t listed = batch.state->run_count[run_class];
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t runs = 0; runs < listed; ++runs) {
      const std::uint32_t place = claim_of_class(batch, run_class, 1);
      if (place >= listed) {
        break;
      }
      apply_long(batch, batch.runs[first_run(batch.count, run_class) + place], window);
    }
  }
}

// The same for the short runs, a member each.
GCOORD_HD inline void apply_short_runs(const LockBatch& batch) {
  if (batch.state->refused != 0) {
    return;
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t run_class = batch.long_run_class; run_class-- > 0;) {
    const std::uint32_t listed = batch.state->run_count[run_class];
    GCOORD_UNROLL_BY(1)
    for (std::uint32_t runs = 0; runs < listed; ++runs) {
      const std::uint32_t place = claim_of_class(batch, run_class, warp_lanes());
      if (place >= listed) {
        break;
      }
      if (place + warp_rank() < listed) {
        apply_short(batch, batch.runs[first_run(batch.count, run_class) + place + warp_rank()]);
      }
      warp_sync();
    }
  }
}

}  // namespace gcoord::locks
