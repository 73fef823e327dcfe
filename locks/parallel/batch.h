// A batch of committed commands of many shards, and how it is made ready for many writers.
//
// Commands stand in the order in which they were decided: those of one shard in its log order,
// those of different shards in any. Stages, each over all commands or all runs, each a kernel of
// its own:
//
//   count_command    what the batch may take at most, and the keys of the sort
//   (a stable sort by shard, the device's own)
//   list_run         one run per shard: its commands, in log order; runs listed by length
//   make_ready       what of long runs' commands can be worked out beforehand, in log order
//   apply_long_runs, apply_short_runs   lock_run.h; side by side
//   order_event      the events of the batch in the order of its commands
//
// A batch whose demand is not met by the free rows, or by the room for events, is refused as a
// whole before anything is applied; the owner grows what was short and gives it again. Plain views;
// pointers are memory of whoever runs the stages; host and device.
#pragma once

#include "common/assert.h"
#include "common/device/device_atomic.h"
#include "common/hd.h"
#include "common/ids.h"
#include "locks/commands/reply.h"
#include "locks/state/demand.h"
#include "locks/state/keys.h"
#include "locks/state/table.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::locks {

// A decided command as a batch has it. The bytes of a name are in the batch's payload.
struct CommittedCommand {
  LockCommand command;  // Its `name` is not used.
  LogIndex index;
  ShardId shard;
  std::uint32_t name_offset = 0;
};

// The free rows of a pool stand at positions from `claimed` up to `returned` of its ring.
struct PoolTops {
  std::uint32_t claimed = 0;
  std::uint32_t returned = 0;

  GCOORD_HD std::uint32_t available() const { return returned - claimed; }
};

// What batches leave to the next one, beside the tables.
struct LockPoolTops {
  PoolTops locks;
  PoolTops sessions;
  PoolTops requests;
  PoolTops name_blocks;
  std::uint64_t waiter_count = 0;
};

// The commands of one shard: places `first` up to first + count of LockBatch::order.
struct LockRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// Runs of class c have 2^c up to 2^(c+1) commands.
inline constexpr std::uint32_t kRunClasses = 32;

// Runs of this class and above have a group each: 128 commands. Measured in
// docs/internals/performance_device.md.
inline constexpr std::uint32_t kLongRunClass = 7;

// What the stages of one batch tell each other; zero before the first.
struct LockBatchState {
  LockDemand demand;
  std::uint32_t refused = 0;
  std::uint32_t run_count[kRunClasses] = {};
  std::uint32_t run_claimed[kRunClasses] = {};  // May run past run_count.
  std::uint32_t event_count = 0;
  std::uint32_t unknown_count = 0;  // Commands answered with UnknownCommand.
  std::uint32_t planned_count = 0;  // Commands of long runs that were decided many at once.
};

struct LockBatch {
  LockTables tables;  // Without windows; each writer brings its own.
  const CommittedCommand* commands = nullptr;
  const char* payload = nullptr;
  std::uint32_t count = 0;
  LockPoolTops* ends = nullptr;
  LockBatchState* state = nullptr;
  std::uint32_t* shard_keys = nullptr;  // One per command, as are the five below.
  std::uint32_t* place_values = nullptr;
  std::uint32_t* sorted_shards = nullptr;
  std::uint32_t* order = nullptr;         // Places of commands, by shard and then as decided.
  CommittedCommand* ready = nullptr;      // Of long runs: commands in that order,
  LockKeys* ready_keys = nullptr;         // and their keys.
  LockRun* runs = nullptr;                // Twice the commands; see first_run().
  LockReply* replies = nullptr;           // One per command, in its place.
  std::uint32_t* event_counts = nullptr;  // One per command; zero before the batch.
  LockEvent* events = nullptr;            // As they came; event_places says whose they are.
  LockEventSlot* event_places = nullptr;
  std::uint32_t event_capacity = 0;
  std::uint32_t long_run_class = kLongRunClass;
};

// Where the runs of a class begin in LockBatch::runs: n commands make at most n / 2^c of them.
GCOORD_HD inline std::uint32_t first_run(std::uint32_t count, std::uint32_t run_class) {
  return 2 * count - (2 * count >> run_class);
}

// The class of a run of so many commands; count > 0.
GCOORD_HD inline std::uint32_t run_class_of(std::uint32_t count) {
  std::uint32_t run_class = 0;
  while (run_class + 1 < kRunClasses && count >> (run_class + 1) != 0) {
    ++run_class;
  }
  return run_class;
}

// Adds a share of the demand to the batch's.
GCOORD_HD inline void add_demand(const LockBatch& batch, const LockDemand& share) {
  LockDemand& sum = batch.state->demand;
  relaxed_add(sum.locks, share.locks);
  relaxed_add(sum.sessions, share.sessions);
  relaxed_add(sum.requests, share.requests);
  relaxed_add(sum.name_blocks, share.name_blocks);
  relaxed_add(sum.events, share.events);
  relaxed_add(sum.waits, share.waits);
}

// First stage: thread k of `stride` looks at every stride-th command.
GCOORD_HD inline void count_commands(const LockBatch& batch,
                                     std::uint32_t k,
                                     std::uint32_t stride) {
  LockDemand share;
  for (std::uint32_t place = k; place < batch.count; place += stride) {
    const CommittedCommand& entry = batch.commands[place];
    GCOORD_ASSERT(entry.shard.value < batch.tables.shard_count);
    share += demand_of(entry.command);
    batch.shard_keys[place] = entry.shard.value;
    batch.place_values[place] = place;
  }
  add_demand(batch, share);
}

// Events that the batch may make at most.
GCOORD_HD inline std::uint64_t events_max(const LockBatchState& state, const LockPoolTops& ends) {
  const std::uint64_t waiting = ends.waiter_count + state.demand.waits;
  // A command that ends one hold or one wait may let several waiters in.
  const std::uint64_t told = std::uint64_t{state.demand.events} * kHoldersMax;
  return waiting < told ? waiting : told;
}

// Whether every command of the batch will find what it may need.
GCOORD_HD inline bool demand_met(const LockBatch& batch) {
  const LockDemand& demand = batch.state->demand;
  const LockPoolTops& ends = *batch.ends;
  return demand.locks <= ends.locks.available() && demand.sessions <= ends.sessions.available() &&
         demand.requests <= ends.requests.available() &&
         demand.name_blocks <= ends.name_blocks.available() &&
         events_max(*batch.state, ends) <= batch.event_capacity;
}

// The place after the last one in [first, count) that has the shard of `first`.
GCOORD_HD inline std::uint32_t run_end(const LockBatch& batch, std::uint32_t first) {
  const std::uint32_t shard = batch.sorted_shards[first];
  std::uint32_t inside = first;  // Of the run.
  std::uint32_t step = 1;
  while (batch.count - inside > step && batch.sorted_shards[inside + step] == shard) {
    inside += step;
    step *= 2;
  }
  std::uint32_t outside = batch.count - inside > step ? inside + step : batch.count;
  while (outside - inside > 1) {
    const std::uint32_t middle = inside + (outside - inside) / 2;
    if (batch.sorted_shards[middle] == shard) {
      inside = middle;
    } else {
      outside = middle;
    }
  }
  return outside;
}

// Stage after the sort, for each place k of the order: lists the run that begins there, if one
// does.
GCOORD_HD inline void list_run(const LockBatch& batch, std::uint32_t k) {
  if (k == 0) {
    batch.state->refused = demand_met(batch) ? 0 : 1;
  }
  if (k > 0 && batch.sorted_shards[k - 1] == batch.sorted_shards[k]) {
    return;
  }
  const LockRun run{k, run_end(batch, k) - k};
  const std::uint32_t run_class = run_class_of(run.count);
  const std::uint32_t place = relaxed_add(batch.state->run_count[run_class], 1);
  batch.runs[first_run(batch.count, run_class) + place] = run;
}

// Whether place k of the order may be in a run of this class or above; never no for one that is. Of
// a run of n commands, one that is n / 2 away from k on either side is in it too.
GCOORD_HD inline bool may_be_in_run(const LockBatch& batch,
                                    std::uint32_t k,
                                    std::uint32_t run_class) {
  const std::uint32_t half = (1u << run_class) / 2;
  const std::uint32_t shard = batch.sorted_shards[k];
  return (k >= half && batch.sorted_shards[k - half] == shard) ||
         (batch.count - k > half && batch.sorted_shards[k + half] == shard);
}

// Stage before long runs are applied, for each place k of the order: a chain of commands should
// find them side by side and not wait for what nobody has to wait for.
GCOORD_HD inline void make_ready(const LockBatch& batch, std::uint32_t k) {
  if (batch.state->refused != 0 || !may_be_in_run(batch, k, batch.long_run_class)) {
    return;
  }
  const CommittedCommand entry = batch.commands[batch.order[k]];
  LockKeys keys = make_keys(batch.tables, entry.shard, entry.index, entry.command);
  keys.session_hint = find_session(batch.tables, entry.shard, entry.command.session, keys);
  if (names_lock(entry.command.kind)) {
    keys.lock_hint = find_lock(batch.tables, entry.shard, entry.command.name_hash, keys);
  }
  batch.ready[k] = entry;
  batch.ready_keys[k] = keys;
}

// Last stage, for each event k: `first_events` says for each command how many events the commands
// before it made.
GCOORD_HD inline void order_event(const LockBatch& batch,
                                  const std::uint32_t* first_events,
                                  LockEvent* ordered,
                                  std::uint32_t k) {
  const LockEventSlot place = batch.event_places[k];
  ordered[first_events[place.command] + place.ordinal] = batch.events[k];
}

}  // namespace gcoord::locks
