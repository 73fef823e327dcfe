// The newest events of a node, in the order in which it applied them.
//
// A record is what one entry did; a cursor counts records from the first that was ever recorded.
// Bytes are bounded: the oldest records give way, and the floor of their shard says up to where its
// events are gone. One thread.
#pragma once

#include "common/assert.h"
#include "server/watch/record.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace gcoord::server {

class WatchRing {
 public:
  explicit WatchRing(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Events are recorded from now on; `applied` says by shard which entries came before.
  void start(std::vector<std::uint64_t> applied);
  // Lets go of everything.
  void stop();

  void push(WatchRecord record);

  // What is recorded: first() <= cursor < end().
  std::uint64_t first() const { return first_; }

  std::uint64_t end() const { return first_ + records_.size(); }

  const WatchRecord& at(std::uint64_t cursor) const {
    GCOORD_ASSERT(cursor >= first_ && cursor < end());
    return records_[cursor - first_];
  }

  // Every event of the shard above this revision is recorded.
  LogIndex floor(ShardId shard) const { return LogIndex{floors_[shard.value]}; }

  // Nothing is known of what the shard did up to this revision.
  void forget(ShardId shard, LogIndex revision) { floors_[shard.value] = revision.value; }

  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t first_ = 0;
  std::deque<WatchRecord> records_;
  std::vector<std::uint64_t> floors_;  // By shard.
};

}  // namespace gcoord::server
