// Requests that a node refuses while its disk is low: those that make its log grow.
//
// New sessions, new locks and places in queues, new values of elections and moves of locks wait
// until space is freed. What gives back goes on: releases, ends of sessions, breaks, hand-overs,
// expiry, whoever asks. A command that the node remembers takes nothing more, and neither does one
// whose request stands in a queue already. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"

#include <functional>
#include <utility>

namespace gcoord::server {

class SpaceAdmission {
 public:
  // `disk_is_low` may be empty: never.
  explicit SpaceAdmission(std::function<bool()> disk_is_low)
      : disk_is_low_(std::move(disk_is_low)) {}

  // Whether anything new is taken.
  bool takes_more() const { return !disk_is_low_ || !disk_is_low_(); }

  // Whether this command is.
  bool takes(ShardId shard, const locks::LockCommand& command, const locks::LockCpu& locks) const {
    return takes_more() || !grows(command.kind) ||
           locks.knows_request(shard, command.session, command.sequence);
  }

 private:
  static bool grows(locks::LockCommandKind kind) {
    return kind == locks::LockCommandKind::Acquire ||
           kind == locks::LockCommandKind::RegisterSession ||
           kind == locks::LockCommandKind::Proclaim || kind == locks::LockCommandKind::GroupRequest;
  }

  std::function<bool()> disk_is_low_;
};

}  // namespace gcoord::server
