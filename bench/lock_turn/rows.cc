#include "bench/lock_turn/rows.h"

#include "locks/commands/entry.h"

#include <algorithm>
#include <utility>

namespace gcoord::bench {

// Entries of one command have numbers in a row, as those have that a node's host asks for.
void LockTurnRows::add(ShardId shard, const locks::LockCommand& command) {
  std::vector<locks::LockEntry> entries = locks::entries_of(command);
  for (locks::LockEntry& entry : entries) {
    entry.request = ++request_;
  }
  added_.push_back({shard.value, static_cast<std::uint32_t>(entries.size())});
  added_entries_.insert(added_entries_.end(), entries.begin(), entries.end());
}

void LockTurnRows::seal() {
  std::ranges::fill(first_, 0u);
  for (const Added& each : added_) {
    first_[each.row + 1] += each.entry_count;
  }
  for (std::size_t row = 0; row + 1 < first_.size(); ++row) {
    first_[row + 1] += first_[row];
  }
  base_ = last_;
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  entries_.resize(added_entries_.size());
  places_.clear();
  places_.reserve(added_.size());
  auto from = added_entries_.begin();
  for (const Added& each : added_) {
    std::copy_n(from, each.entry_count, entries_.begin() + next[each.row]);
    from += each.entry_count;
    next[each.row] += each.entry_count;
    last_[each.row] += each.entry_count;
    places_.push_back({next[each.row] - 1, LogIndex{last_[each.row]}});
  }
  added_.clear();
  added_entries_.clear();
}

}  // namespace gcoord::bench
