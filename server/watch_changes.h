// What a command did to the names of its shard, as events for those who watch them.
//
//   changes.before(locks, shard, command);  apply it;  events = changes.after(...)
//
// The locks that the command can reach are looked at before and after: a token that is gone was
// released, one that is new was granted, one whose note differs has another value. Who waits comes
// from the reply and from the events of the step. Events stand in the order of the locks that the
// command reaches, first what was let go. A list of ends (locks/lock_ends.h) is looked at end by
// end, because one may be granted what another loses. A function of the shard's commands alone, so
// equal on every node and in a replay. One thread; keeps its memory warm.
#pragma once

#include "locks/lock_cpu.h"
#include "rpc/watch_messages.h"
#include "server/watch_record.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// The move that the command was, if it was one and did what it says.
std::shared_ptr<const WatchMove> watch_move(const locks::LockCommand& command,
                                            const locks::LockReply& reply);

class WatchChanges {
 public:
  void before(const locks::LockCpu& locks, ShardId shard, const locks::LockCommand& command);

  // Empty for most commands that change nothing.
  std::vector<rpc::WatchEvent> after(const locks::LockCpu& locks,
                                     ShardId shard,
                                     const locks::LockCommand& command,
                                     const locks::LockReply& reply,
                                     std::span<const locks::LockEvent> ended);

 private:
  struct Hold {
    SessionId session;
    FencingToken token;
  };

  struct Reached {
    NameHash hash;
    std::string name;  // Empty: there was no such lock.
    std::string note;
    std::vector<Hold> holds;
  };

  static Reached look(const locks::LockCpu& locks, ShardId shard, NameHash hash);
  void reach(const locks::LockCpu& locks, ShardId shard, NameHash hash);
  void reach_session(const locks::LockCpu& locks, ShardId shard, SessionId session);
  void reach_wait(const locks::LockCpu& locks, ShardId shard, const locks::LockCommand& command);
  static void add_lost(const locks::LockCpu& locks,
                       ShardId shard,
                       const locks::LockCommand& command,
                       std::vector<rpc::WatchEvent>& events);

  std::vector<Reached> reached_;
};

}  // namespace gcoord::server
