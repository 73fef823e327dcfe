#include "locks/cpu/lock_pools.h"

#include "common/assert.h"

namespace gcoord::locks {
namespace {

constexpr std::uint32_t kWordBits = 64;

std::size_t bit_word_count(std::uint32_t shard_count) {
  return (std::size_t{shard_count} + kWordBits - 1) / kWordBits;
}

std::size_t shard_column_bytes(std::uint32_t shard_count) {
  return ColumnArena::bytes_for<LockShardRow>(shard_count) +
         ColumnArena::bytes_for<std::uint64_t>(bit_word_count(shard_count));
}

}  // namespace

LockPools::LockPools(std::uint32_t shard_count, std::uint64_t index_seed)
    : shard_columns_(shard_column_bytes(shard_count)) {
  GCOORD_ASSERT(shard_count > 0);
  tables_.shards = shard_columns_.column<LockShardRow>(shard_count);
  shard_bits_ = shard_columns_.column<std::uint64_t>(bit_word_count(shard_count));
  tables_.shard_count = shard_count;
  tables_.index_seed = index_seed;
  tables_.waiter_count = &waiter_count_;
}

// True when the pool's records moved.
template <typename Record, typename RowId>
bool LockPools::grow_pool(PoolMemory<Record, RowId>& memory,
                          RowPool<Record, RowId>& pool,
                          std::uint32_t wanted) {
  if (pool.window != nullptr && pool.available() >= wanted) [[likely]] {
    return false;
  }
  const std::uint32_t capacity = std::max(2 * pool.capacity, memory.window.next + wanted);
  memory.records.resize(std::size_t{capacity} + 1);
  memory.free_rows.resize(capacity);
  pool.records = memory.records.data();
  pool.free_rows = memory.free_rows.data();
  pool.window = &memory.window;
  pool.window->last = capacity;
  pool.capacity = capacity;
  return true;
}

bool LockPools::reserve(const LockDemand& demand) {
  grow_pool(requests_, tables_.requests, demand.requests);
  grow_pool(names_, tables_.name_blocks, demand.name_blocks);
  if (grow_pool(locks_, tables_.locks, demand.locks) || lock_index_.moving()) {
    lock_index_.reserve(tables_.locks.capacity);
    tables_.lock_index = lock_index_.view();
  }
  const bool grown = grow_pool(sessions_, tables_.sessions, demand.sessions);
  if (grown || session_index_.moving()) {
    session_index_.reserve(tables_.sessions.capacity);
    tables_.session_index = session_index_.view();
  }
  return grown;
}

LockUsage LockPools::usage() const {
  const auto bytes_of = [](const auto& memory) {
    return memory.records.memory_bytes() + memory.free_rows.memory_bytes();
  };
  LockUsage usage;
  usage.locks = locks_.window.next;
  usage.waiters = waiter_count_;
  usage.sessions = sessions_.window.next;
  usage.requests = requests_.window.next;
  usage.name_blocks = names_.window.next;
  usage.memory_bytes = shard_columns_.used_bytes() + bytes_of(locks_) + bytes_of(sessions_) +
                       bytes_of(requests_) + bytes_of(names_) + lock_index_.memory_bytes() +
                       session_index_.memory_bytes();
  return usage;
}

}  // namespace gcoord::locks
