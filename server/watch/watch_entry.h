// Watched entry: what the entry that is applied now has changed so far.
//
// One thread.
#pragma once

#include "server/watch/changes.h"
#include "server/watch/record.h"

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

class WatchEntry {
 public:
  // Around each command of the entry (server/interfaces/apply_observer.h).
  void before(const locks::LockCpu& locks, ShardId shard, const locks::LockCommand& command) {
    changes_.before(locks, shard, command);
  }

  void after(const locks::LockCpu& locks,
             ShardId shard,
             const locks::LockCommand& command,
             const locks::LockReply& reply,
             std::span<const locks::LockEvent> events) {
    const auto seen = changes_.after(locks, shard, command, reply, events);
    seen_.insert(seen_.end(), seen.begin(), seen.end());
    if (auto move = watch_move(command, reply)) {
      move_ = std::move(move);
    }
  }

  // What it did, at its end; nothing if that concerns no watch.
  std::optional<WatchRecord> take(ShardId shard, LogIndex index) {
    if (seen_.empty() && !move_) {
      return std::nullopt;
    }
    return WatchRecord{shard, index, std::exchange(seen_, {}), std::exchange(move_, nullptr)};
  }

 private:
  WatchChanges changes_;
  std::vector<WatchChange> seen_;
  std::shared_ptr<const WatchMove> move_;
};

}  // namespace gcoord::server
