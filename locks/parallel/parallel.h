// The lock service of one node on a device: owns the tables there, applies batches of commands.
//
// The same state machine as LockCpu, with the same apply(): equal commands give equal replies,
// events, state hashes and snapshots, whichever of the two applied them. Commands, replies and
// events stay in device memory; a batch costs the host one call.
//
//   outcome = locks.apply(commands, payload, count)   // device memory, decided commands
//   outcome.replies, outcome.events                   // device memory, until the next batch
//
// A batch that may need more rows or more room for events than there are is refused on the device
// before anything is applied; then what is short is doubled here and the batch is given again, so
// no command is lost. The session clock (sessions/clock.h) is the host's and not kept here: replies
// say which registrations changed. Contract: one thread. After an error other than InvalidArgument
// the tables are not to be trusted; the owner builds new ones from its log or snapshots. Host only.
#pragma once

#include "common/status.h"
#include "common/tables/column_arena.h"
#include "locks/cpu/lock_cpu.h"
#include "locks/parallel/batch.h"
#include "locks/parallel/device.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::locks {

struct LockParallelOptions {
  std::uint32_t shard_count = 1;
  std::uint32_t batch_max = 1u << 20;       // Commands of a batch; at most 2^26.
  std::uint32_t events_initial = 1u << 16;  // Room for the events of a batch; grows as pools do.
  // Rows of the pools at the start.
  std::uint32_t locks_initial = 1024;
  std::uint32_t sessions_initial = 1024;
  std::uint32_t requests_initial = 1024;
  std::uint32_t name_blocks_initial = 1024;
  std::uint64_t index_seed = 0;  // Unknown to clients; see hash_index.h.
};

struct LockBatchOutcome {
  const LockReply* replies = nullptr;  // Device memory: one per command, in the order of the batch.
  const LockEvent* events = nullptr;   // Device memory: by command, then as they happened.
  std::uint32_t event_count = 0;
  std::uint32_t run_count = 0;      // Shards with a command in the batch.
  std::uint32_t unknown_count = 0;  // Commands that this version does not know.
  std::uint32_t planned_count = 0;  // Commands decided many at once (lock_plan.h).
  std::uint32_t refused_count =
      0;  // Times that the batch was refused for want of rows, and regrown.
};

// A copy of the tables in host memory, for snapshots and comparisons.
class LockImage {
 public:
  std::vector<std::byte> serialize(ShardId shard) const;

  std::uint64_t state_hash(ShardId shard) const { return tables_.shard(shard).state_hash; }

 private:
  friend class LockParallel;

  std::unique_ptr<ColumnArena> arena_;
  LockTables tables_;
};

class LockParallel {
 public:
  static Result<std::unique_ptr<LockParallel>> make(std::unique_ptr<LockDevice> device,
                                                    const LockParallelOptions& options);
  LockParallel(const LockParallel&) = delete;
  LockParallel& operator=(const LockParallel&) = delete;

  // Applies committed commands: those of a shard in its log order, shards in any. All in device
  // memory. InvalidArgument, and no change, for more than batch_max.
  Result<LockBatchOutcome> apply(const CommittedCommand* commands,
                                 const char* payload,
                                 std::uint32_t count);

  // Replaces the state of all shards by that of `source`, which serves as many.
  Status load(const LockCpu& source);

  // The state of all shards, copied out.
  Result<LockImage> image();

  // Rows in use and memory, as LockCpu counts them.
  Result<LockUsage> usage();

  LockDevice& device() { return *device_; }

 private:
  template <typename Record, typename RowId>
  struct PoolMemory {
    LockMemory records;
    LockMemory free_rows;
    std::size_t bytes = 0;
  };

  LockParallel(std::unique_ptr<LockDevice> device, const LockParallelOptions& options)
      : device_(std::move(device)), options_(options) {}

  Status allocate();
  Status reserve_events(std::uint32_t count);
  Status reserve_index(MovingIndex& index, LockMemory& memory, std::uint32_t capacity);
  Status grow(const LockBatchState& state);
  Status grow_pools(const LockDemand& wanted);
  template <typename Record, typename RowId>
  Status grow_pool(PoolMemory<Record, RowId>& memory,
                   RowPool<Record, RowId>& pool,
                   PoolTops& ends,
                   std::uint32_t wanted);
  template <typename Record, typename RowId>
  Status load_pool(PoolMemory<Record, RowId>& memory,
                   RowPool<Record, RowId>& pool,
                   PoolTops& ends,
                   const RowPool<Record, RowId>& source);
  template <typename Record, typename RowId>
  Status reserve_pool(PoolMemory<Record, RowId>& memory,
                      RowPool<Record, RowId>& pool,
                      std::uint32_t capacity,
                      RingMove move);
  template <typename T>
  Result<T*> reserve_column(LockMemory& memory, std::size_t count);
  Status index_all();
  LockBatch batch_of(const CommittedCommand* commands, const char* payload, std::uint32_t count);
  Status read_ends();
  Status write_ends();

  std::unique_ptr<LockDevice> device_;
  LockParallelOptions options_;
  LockTables tables_;
  LockBatch columns_;  // The columns of a batch, without commands.
  LockPoolTops ends_;  // As the device had them after the last batch.
  LockMemory shard_memory_;
  LockMemory batch_memory_;
  LockMemory event_memory_;
  LockMemory scratch_memory_;
  std::size_t scratch_bytes_ = 0;
  LockEvent* ordered_events_ = nullptr;
  std::uint32_t* first_events_ = nullptr;
  PoolMemory<LockRecord, LockRow> lock_memory_;
  PoolMemory<SessionRecord, SessionRow> session_memory_;
  PoolMemory<RequestRecord, RequestRow> request_memory_;
  PoolMemory<NameBlock, NameBlockRow> name_memory_;
  LockMemory lock_index_memory_;
  LockMemory session_index_memory_;
};

}  // namespace gcoord::locks
