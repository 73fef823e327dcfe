// Decided lock commands as the log entries of rows, in the order in which a device's turn has them.
//
// A shard is a row, and each row's entries lie side by side in log order, the pieces of a long name
// before its command (locks/commands/entry.h). Batches follow one another: a row's indexes go on
// where the last batch ended. Host only; one thread.
#pragma once

#include "common/ids.h"
#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::bench {

class LockTurnRows {
 public:
  explicit LockTurnRows(std::uint32_t shard_count)
      : first_(shard_count + 1), base_(shard_count), last_(shard_count) {}

  // Takes a command that a log on a device has room for (is_entry_command), with the bytes of its
  // name. Those of one shard come in the order in which they were decided.
  void add(ShardId shard, const locks::LockCommand& command);

  // All that was added is a batch now; the next command that is added begins another one.
  void seal();

  // --- Of the sealed batch.

  // Row by row.
  std::span<const locks::LockEntry> entries() const { return entries_; }

  // Where each row's entries begin, and behind the last row's where they all end.
  std::span<const std::uint32_t> first() const { return first_; }

  // By row: the index of the last entry before the batch.
  std::span<const std::uint64_t> base() const { return base_; }

  // Of each command in the order of add(): where its entry lies, and the index that it has.
  struct Place {
    std::uint32_t at = 0;
    LogIndex index;
  };

  std::span<const Place> places() const { return places_; }

 private:
  struct Added {
    std::uint32_t row = 0;
    std::uint32_t entry_count = 0;
  };

  std::vector<locks::LockEntry> added_entries_;  // As they came.
  std::vector<Added> added_;
  std::vector<locks::LockEntry> entries_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint64_t> base_;
  std::vector<std::uint64_t> last_;  // By row: the index of the newest entry.
  std::vector<Place> places_;
  std::uint64_t request_ = 0;
};

}  // namespace gcoord::bench
