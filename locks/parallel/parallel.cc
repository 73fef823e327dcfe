#include "locks/parallel/parallel.h"

#include "common/assert.h"
#include "locks/snapshot/snapshot.h"

#include <algorithm>
#include <bit>
#include <string>

namespace gcoord::locks {
namespace {

// More would overflow the 32-bit sums of what a batch may take.
constexpr std::uint32_t kBatchMax = 1u << 26;

// Rows of a pool: positions of its ring count up to twice as many, and a name block's row leaves
// the highest bit free.
constexpr std::uint32_t kPoolRowsMax = 1u << 30;

// A refusal is met by growing, which is exact; a third one would be a bug.
constexpr std::uint32_t kAttempts = 3;

std::uint32_t ring_positions(std::uint32_t capacity) {
  return std::bit_ceil(2 * capacity);
}

// Carves the columns of a batch, or with base 0 adds up their bytes.
struct BatchCarver {
  std::byte* base = nullptr;
  std::size_t used = 0;

  template <typename T>
  T* column(std::size_t count) {
    auto* start = reinterpret_cast<T*>(base + used);
    used += ColumnArena::bytes_for<T>(count);
    return start;
  }
};

void carve_batch(BatchCarver& carver, std::uint32_t batch_max, LockBatch& batch) {
  batch.ends = carver.column<LockPoolTops>(1);
  batch.state = carver.column<LockBatchState>(1);
  batch.shard_keys = carver.column<std::uint32_t>(batch_max);
  batch.place_values = carver.column<std::uint32_t>(batch_max);
  batch.sorted_shards = carver.column<std::uint32_t>(batch_max);
  batch.order = carver.column<std::uint32_t>(batch_max);
  batch.ready = carver.column<CommittedCommand>(batch_max);
  batch.ready_keys = carver.column<LockKeys>(batch_max);
  batch.runs = carver.column<LockRun>(2 * std::size_t{batch_max});
  batch.replies = carver.column<LockReply>(batch_max);
  batch.event_counts = carver.column<std::uint32_t>(batch_max);
}

}  // namespace

std::vector<std::byte> LockImage::serialize(ShardId shard) const {
  return write_snapshot(tables_, shard);
}

Result<std::unique_ptr<LockParallel>> LockParallel::make(std::unique_ptr<LockDevice> device,
                                                         const LockParallelOptions& options) {
  if (options.shard_count == 0 || options.batch_max == 0 || options.batch_max > kBatchMax) {
    return Status{StatusCode::InvalidArgument, "locks: no shard, or a batch of 0 or above 2^26"};
  }
  std::unique_ptr<LockParallel> locks(new LockParallel(std::move(device), options));
  GCOORD_TRY_STATUS(locks->allocate());
  return locks;
}

template <typename T>
Result<T*> LockParallel::reserve_column(LockMemory& memory, std::size_t count) {
  GCOORD_TRY(memory, device_->reserve(ColumnArena::bytes_for<T>(count)));
  return static_cast<T*>(memory.get());
}

Status LockParallel::allocate() {
  GCOORD_TRY(tables_.shards, reserve_column<LockShardRow>(shard_memory_, options_.shard_count));
  tables_.shard_count = options_.shard_count;
  tables_.index_seed = options_.index_seed;
  BatchCarver sum;
  carve_batch(sum, options_.batch_max, columns_);
  GCOORD_TRY(auto* base, reserve_column<std::byte>(batch_memory_, sum.used));
  BatchCarver carver{base};
  carve_batch(carver, options_.batch_max, columns_);
  scratch_bytes_ = device_->scratch_bytes(options_.batch_max);
  GCOORD_TRY_STATUS(reserve_column<std::byte>(scratch_memory_, scratch_bytes_).status());
  GCOORD_TRY_STATUS(reserve_events(std::max(options_.events_initial, 1u)));
  return grow_pools({.locks = std::max(options_.locks_initial, 1u),
                     .sessions = std::max(options_.sessions_initial, 1u),
                     .requests = std::max(options_.requests_initial, 1u),
                     .name_blocks = std::max(options_.name_blocks_initial, 1u)});
}

Status LockParallel::reserve_events(std::uint32_t count) {
  const std::size_t bytes = 2 * ColumnArena::bytes_for<LockEvent>(count) +
                            ColumnArena::bytes_for<LockEventSlot>(count) +
                            ColumnArena::bytes_for<std::uint32_t>(options_.batch_max);
  GCOORD_TRY(auto* base, reserve_column<std::byte>(event_memory_, bytes));
  BatchCarver carver{base};
  columns_.events = carver.column<LockEvent>(count);
  ordered_events_ = carver.column<LockEvent>(count);
  columns_.event_places = carver.column<LockEventSlot>(count);
  first_events_ = carver.column<std::uint32_t>(options_.batch_max);
  columns_.event_capacity = count;
  return {};
}

// Gives the pool new memory for `capacity` rows, with its ring as `move` says. Records are the
// caller's to fill.
template <typename Record, typename RowId>
Status LockParallel::reserve_pool(PoolMemory<Record, RowId>& memory,
                                  RowPool<Record, RowId>& pool,
                                  std::uint32_t capacity,
                                  RingMove move) {
  if (capacity > kPoolRowsMax) {
    return Status{StatusCode::ResourceExhausted, "locks: a pool above 2^30 rows"};
  }
  PoolMemory<Record, RowId> larger;
  const std::uint32_t positions = ring_positions(capacity);
  GCOORD_TRY(pool.records, reserve_column<Record>(larger.records, std::size_t{capacity} + 1));
  GCOORD_TRY(pool.free_rows, reserve_column<std::uint32_t>(larger.free_rows, positions));
  larger.bytes = (std::size_t{capacity} + 1) * sizeof(Record) + std::size_t{positions} * 4;
  move.rows = pool.free_rows;
  GCOORD_TRY_STATUS(device_->move_ring(move));
  pool.capacity = capacity;
  pool.position_mask = positions - 1;
  std::swap(memory, larger);
  return {};
}

template <typename Record, typename RowId>
Status LockParallel::grow_pool(PoolMemory<Record, RowId>& memory,
                               RowPool<Record, RowId>& pool,
                               PoolTops& ends,
                               std::uint32_t wanted) {
  const std::uint32_t free_count = ends.available();
  if (free_count >= wanted) {
    return {};
  }
  const std::uint32_t used = pool.capacity - free_count;
  const std::uint32_t capacity = std::max(2 * pool.capacity, used + wanted);
  const PoolMemory<Record, RowId> old_memory = memory;
  const RowPool<Record, RowId> old = pool;
  GCOORD_TRY_STATUS(reserve_pool(memory,
                                 pool,
                                 capacity,
                                 {.old_rows = old.free_rows,
                                  .old_mask = old.position_mask,
                                  .old_first = ends.claimed,
                                  .free_count = free_count,
                                  .old_capacity = old.capacity,
                                  .row_count = capacity - used}));
  ends = PoolTops{.claimed = 0, .returned = capacity - used};
  if (old.records == nullptr) {
    return {};
  }
  return device_->copy_within(
      pool.records, old.records, (std::size_t{old.capacity} + 1) * sizeof(Record));
}

Status LockParallel::reserve_index(MovingIndex& index, LockMemory& memory, std::uint32_t capacity) {
  const std::size_t line_count = HashIndex::line_count(capacity);
  GCOORD_TRY(index.current.lines, reserve_column<IndexLine>(memory, line_count));
  index.current.mask = static_cast<std::uint32_t>(line_count - 1);
  index.current.writers = IndexWriters::Many;
  return {};
}

Status LockParallel::index_all() {
  GCOORD_TRY_STATUS(reserve_index(tables_.lock_index, lock_index_memory_, tables_.locks.capacity));
  GCOORD_TRY_STATUS(
      reserve_index(tables_.session_index, session_index_memory_, tables_.sessions.capacity));
  GCOORD_TRY_STATUS(device_->index_locks(tables_));
  return device_->index_sessions(tables_);
}

Status LockParallel::grow_pools(const LockDemand& wanted) {
  const std::uint32_t locks_before = tables_.locks.capacity;
  const std::uint32_t sessions_before = tables_.sessions.capacity;
  GCOORD_TRY_STATUS(grow_pool(lock_memory_, tables_.locks, ends_.locks, wanted.locks));
  GCOORD_TRY_STATUS(grow_pool(session_memory_, tables_.sessions, ends_.sessions, wanted.sessions));
  GCOORD_TRY_STATUS(grow_pool(request_memory_, tables_.requests, ends_.requests, wanted.requests));
  GCOORD_TRY_STATUS(
      grow_pool(name_memory_, tables_.name_blocks, ends_.name_blocks, wanted.name_blocks));
  if (tables_.locks.capacity != locks_before || tables_.sessions.capacity != sessions_before) {
    GCOORD_TRY_STATUS(index_all());
  }
  return write_ends();
}

// Makes room for a batch that was refused.
Status LockParallel::grow(const LockBatchState& state) {
  const std::uint64_t events = events_max(state, ends_);
  if (events > columns_.event_capacity) {
    const std::uint64_t doubled = 2 * std::uint64_t{columns_.event_capacity};
    GCOORD_TRY_STATUS(reserve_events(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::max(events, doubled), 0xffff'ffffu))));
  }
  return grow_pools(state.demand);
}

LockBatch LockParallel::batch_of(const CommittedCommand* commands,
                                 const char* payload,
                                 std::uint32_t count) {
  LockBatch batch = columns_;
  batch.tables = tables_;
  batch.tables.locks.returned = &batch.ends->locks.returned;
  batch.tables.sessions.returned = &batch.ends->sessions.returned;
  batch.tables.requests.returned = &batch.ends->requests.returned;
  batch.tables.name_blocks.returned = &batch.ends->name_blocks.returned;
  batch.commands = commands;
  batch.payload = payload;
  batch.count = count;
  return batch;
}

Result<LockBatchOutcome> LockParallel::apply(const CommittedCommand* commands,
                                             const char* payload,
                                             std::uint32_t count) {
  if (count > options_.batch_max) {
    return Status{StatusCode::InvalidArgument,
                  "locks: a batch of " + std::to_string(count) + " commands; at most " +
                      std::to_string(options_.batch_max) + " were reserved for"};
  }
  LockBatchOutcome outcome{.replies = columns_.replies};
  if (count == 0) {
    return outcome;
  }
  LockBatchState state;
  for (; outcome.refused_count < kAttempts; ++outcome.refused_count) {
    const LockBatch batch = batch_of(commands, payload, count);
    GCOORD_TRY_STATUS(device_->run(batch, scratch_memory_.get(), scratch_bytes_));
    GCOORD_TRY_STATUS(device_->copy_out(&state, batch.state, sizeof state));
    if (state.refused == 0) {
      break;
    }
    GCOORD_TRY_STATUS(grow(state));
  }
  GCOORD_ASSERT(state.refused == 0);
  GCOORD_TRY_STATUS(read_ends());
  for (const std::uint32_t listed : state.run_count) {
    outcome.run_count += listed;
  }
  outcome.unknown_count = state.unknown_count;
  outcome.planned_count = state.planned_count;
  outcome.event_count = state.event_count;
  outcome.events = ordered_events_;
  if (state.event_count != 0) {
    GCOORD_TRY_STATUS(device_->order_events(batch_of(commands, payload, count),
                                            state.event_count,
                                            first_events_,
                                            ordered_events_,
                                            scratch_memory_.get(),
                                            scratch_bytes_));
  }
  return outcome;
}

template <typename Record, typename RowId>
Status LockParallel::load_pool(PoolMemory<Record, RowId>& memory,
                               RowPool<Record, RowId>& pool,
                               PoolTops& ends,
                               const RowPool<Record, RowId>& source) {
  LockMemory stack_memory;
  GCOORD_TRY(auto* stack, reserve_column<std::uint32_t>(stack_memory, source.capacity));
  GCOORD_TRY_STATUS(
      device_->copy_in(stack, source.free_rows, std::size_t{source.capacity} * sizeof(*stack)));
  const std::uint32_t capacity = std::max(pool.capacity, source.capacity);
  const std::uint32_t free_count = capacity - source.used();
  GCOORD_TRY_STATUS(reserve_pool(memory,
                                 pool,
                                 capacity,
                                 {.old_rows = stack,
                                  .old_first = source.window->next,
                                  .free_count = source.available(),
                                  .old_capacity = source.capacity,
                                  .row_count = free_count}));
  ends = PoolTops{.claimed = 0, .returned = free_count};
  return device_->copy_in(
      pool.records, source.records, (std::size_t{source.capacity} + 1) * sizeof(Record));
}

Status LockParallel::load(const LockCpu& source) {
  const LockTables& from = source.tables();
  if (from.shard_count != options_.shard_count) {
    return Status{StatusCode::InvalidArgument, "locks: loading from another number of shards"};
  }
  GCOORD_TRY_STATUS(device_->copy_in(
      tables_.shards, from.shards, std::size_t{from.shard_count} * sizeof(LockShardRow)));
  GCOORD_TRY_STATUS(load_pool(lock_memory_, tables_.locks, ends_.locks, from.locks));
  GCOORD_TRY_STATUS(load_pool(session_memory_, tables_.sessions, ends_.sessions, from.sessions));
  GCOORD_TRY_STATUS(load_pool(request_memory_, tables_.requests, ends_.requests, from.requests));
  GCOORD_TRY_STATUS(
      load_pool(name_memory_, tables_.name_blocks, ends_.name_blocks, from.name_blocks));
  ends_.waiter_count = *from.waiter_count;
  GCOORD_TRY_STATUS(index_all());
  return write_ends();
}

Status LockParallel::read_ends() {
  return device_->copy_out(&ends_, columns_.ends, sizeof ends_);
}

Status LockParallel::write_ends() {
  return device_->copy_in(columns_.ends, &ends_, sizeof ends_);
}

Result<LockImage> LockParallel::image() {
  const auto rows_of = [](const auto& pool) { return std::size_t{pool.capacity} + 1; };
  LockImage image;
  image.arena_ = std::make_unique<ColumnArena>(
      ColumnArena::bytes_for<LockShardRow>(tables_.shard_count) +
      ColumnArena::bytes_for<LockRecord>(rows_of(tables_.locks)) +
      ColumnArena::bytes_for<SessionRecord>(rows_of(tables_.sessions)) +
      ColumnArena::bytes_for<RequestRecord>(rows_of(tables_.requests)) +
      ColumnArena::bytes_for<NameBlock>(rows_of(tables_.name_blocks)));
  image.tables_ = tables_;
  Status fetched;
  const auto fetch = [&]<typename T>(T*& column, std::size_t count) {
    T* copy = image.arena_->column<T>(count);
    if (fetched.ok()) {
      fetched = device_->copy_out(copy, column, count * sizeof(T));
    }
    column = copy;
  };
  fetch(image.tables_.shards, tables_.shard_count);
  fetch(image.tables_.locks.records, rows_of(tables_.locks));
  fetch(image.tables_.sessions.records, rows_of(tables_.sessions));
  fetch(image.tables_.requests.records, rows_of(tables_.requests));
  fetch(image.tables_.name_blocks.records, rows_of(tables_.name_blocks));
  GCOORD_TRY_STATUS(fetched);
  return image;
}

Result<LockUsage> LockParallel::usage() {
  GCOORD_TRY_STATUS(read_ends());
  const auto used = [](const auto& pool, const PoolTops& ends) {
    return pool.capacity - ends.available();
  };
  LockUsage usage;
  usage.locks = used(tables_.locks, ends_.locks);
  usage.waiters = ends_.waiter_count;
  usage.sessions = used(tables_.sessions, ends_.sessions);
  usage.requests = used(tables_.requests, ends_.requests);
  usage.name_blocks = used(tables_.name_blocks, ends_.name_blocks);
  usage.memory_bytes =
      std::size_t{tables_.shard_count} * sizeof(LockShardRow) + lock_memory_.bytes +
      session_memory_.bytes + request_memory_.bytes + name_memory_.bytes +
      (std::size_t{tables_.lock_index.current.mask} + 1 + tables_.session_index.current.mask + 1) *
          sizeof(IndexLine);
  return usage;
}

}  // namespace gcoord::locks
