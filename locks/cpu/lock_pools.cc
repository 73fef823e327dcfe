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

LockPools::LockPools(const Options& options)
    : shard_columns_(shard_column_bytes(options.shard_count)) {
  GCOORD_ASSERT(options.shard_count > 0);
  tables_.shards = shard_columns_.column<LockShardRow>(options.shard_count);
  shard_bits_ = shard_columns_.column<std::uint64_t>(bit_word_count(options.shard_count));
  tables_.shard_count = options.shard_count;
  tables_.index_seed = options.index_seed;
  tables_.group_answers_apart = options.group_answers_apart;
  tables_.waiter_count = &waiter_count_;
}

bool LockPools::reserve(const LockDemand& demand) {
  requests_.grow(tables_.requests, demand.requests);
  names_.grow(tables_.name_blocks, demand.name_blocks);
  if (locks_.grow(tables_.locks, demand.locks) || lock_index_.moving()) {
    lock_index_.reserve(tables_.locks.capacity);
    tables_.lock_index = lock_index_.view();
  }
  const bool grown = sessions_.grow(tables_.sessions, demand.sessions);
  if (grown || session_index_.moving()) {
    session_index_.reserve(tables_.sessions.capacity);
    tables_.session_index = session_index_.view();
  }
  return grown;
}

LockUsage LockPools::usage() const {
  LockUsage usage;
  usage.locks = locks_.window.next;
  usage.waiters = waiter_count_;
  usage.sessions = sessions_.window.next;
  usage.requests = requests_.window.next;
  usage.name_blocks = names_.window.next;
  usage.memory_bytes = shard_columns_.used_bytes() + locks_.memory_bytes() +
                       sessions_.memory_bytes() + requests_.memory_bytes() + names_.memory_bytes() +
                       lock_index_.memory_bytes() + session_index_.memory_bytes();
  return usage;
}

}  // namespace gcoord::locks
