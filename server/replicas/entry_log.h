// The payloads of all shards' log entries, by (shard, index).
//
// The rows of consensus know where terms begin and how far each log goes
// (consensus/step/log_runs.h); here lie the bytes. A shard whose entries are all no-ops holds
// nothing, so a million shards that have only ever elected a leader cost four bytes each. From its
// first entry with bytes on, a shard holds a block per entry until the row's floor passes it. One
// thread.
#pragma once

#include "common/ids.h"
#include "server/replicas/entry_pool.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace gcoord::server {

class EntryLog {
 public:
  EntryLog(EntryPool& pool, std::uint32_t shard_count);
  ~EntryLog();
  EntryLog(const EntryLog&) = delete;
  EntryLog& operator=(const EntryLog&) = delete;

  // Puts the block, which it takes over, at `index`; everything at and above is removed. `index`
  // continues the log that the row has. nullptr stands for a no-op.
  void put(ShardId shard, LogIndex index, EntryBlock* block);

  // The block of an entry that the row has, or nullptr for a no-op. Valid until the log changes.
  EntryBlock* find(ShardId shard, LogIndex index) const;

  // Asks for the memory that find() and whoever reads the block will touch, a part at a time, since
  // each leads to the next: with parts 0 to kParts - 1 asked for some entries earlier, find() does
  // not wait. The row has the entry; nothing changes.
  static constexpr std::uint32_t kParts = 4;
  void want(ShardId shard, LogIndex index, std::uint32_t part) const;

  // Removes everything at and above `from`.
  void truncate(ShardId shard, LogIndex from);
  // Removes everything up to `through`.
  void compact(ShardId shard, LogIndex through);
  void clear(ShardId shard);

  // Blocks that a shard holds.
  std::size_t held(ShardId shard) const;

 private:
  // Blocks of consecutive entries; those before `head` are gone.
  struct Chain {
    LogIndex first;  // Index of blocks[head].
    std::size_t head = 0;
    std::vector<EntryBlock*> blocks;

    std::size_t size() const { return blocks.size() - head; }
  };

  Chain* chain_of(ShardId shard);
  const Chain* chain_of(ShardId shard) const;
  Chain& open_chain(ShardId shard, LogIndex first);
  void close_chain(ShardId shard);

  EntryPool& pool_;
  std::vector<std::uint32_t> chain_of_shard_;  // 1 + number of the chain; 0: none.
  std::deque<Chain> chains_;
  std::vector<std::uint32_t> free_chains_;
};

}  // namespace gcoord::server
