// The payloads of the log entries of all rows, by (row, index).
//
// The rows of consensus know where terms begin and how far each log goes
// (consensus/step/log_runs.h); here lie the bytes. A row whose entries are all no-ops holds
// nothing, so a million rows that have only ever elected a leader cost four bytes each. From its
// first entry with bytes on, a row holds a block per entry until the row's floor passes it. One
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
  EntryLog(EntryPool& pool, std::uint32_t row_count);
  ~EntryLog();
  EntryLog(const EntryLog&) = delete;
  EntryLog& operator=(const EntryLog&) = delete;

  // Puts the block, which it takes over, at `index`; everything at and above is removed. `index`
  // continues the log that the row has. nullptr stands for a no-op.
  void put(std::uint32_t row, LogIndex index, EntryBlock* block);

  // The block of an entry that the row has, or nullptr for a no-op. Valid until the log changes.
  EntryBlock* find(std::uint32_t row, LogIndex index) const;

  // Asks for the memory that find() and whoever reads the block will touch, a part at a time, since
  // each leads to the next: with parts 0 to kParts - 1 asked for some entries earlier, find() does
  // not wait. The row has the entry; nothing changes.
  static constexpr std::uint32_t kParts = 4;
  void want(std::uint32_t row, LogIndex index, std::uint32_t part) const;

  // Removes everything at and above `from`.
  void truncate(std::uint32_t row, LogIndex from);
  // Removes everything up to `through`.
  void compact(std::uint32_t row, LogIndex through);
  void clear(std::uint32_t row);

  // Blocks that a row holds.
  std::size_t held(std::uint32_t row) const;

 private:
  // Blocks of consecutive entries; those before `head` are gone.
  struct Chain {
    LogIndex first;  // Index of blocks[head].
    std::size_t head = 0;
    std::vector<EntryBlock*> blocks;

    std::size_t size() const { return blocks.size() - head; }
  };

  Chain* chain_of(std::uint32_t row);
  const Chain* chain_of(std::uint32_t row) const;
  Chain& open_chain(std::uint32_t row, LogIndex first);
  void close_chain(std::uint32_t row);

  EntryPool& pool_;
  std::vector<std::uint32_t> chain_of_row_;  // 1 + number of the chain; 0: none.
  std::deque<Chain> chains_;
  std::vector<std::uint32_t> free_chains_;
};

}  // namespace gcoord::server
