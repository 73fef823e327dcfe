// Changes of one command to the names of its shard, for watches.
//
//   changes.before(locks, shard, command);  apply it;  list = changes.after(...)
//
// The locks that the command can reach are looked at before and after: a token that is gone was
// released, one that is new was granted, one whose note differs has another value; the note that
// was there before goes with what ended or changed. Who waits comes from the reply and from the
// events of the step. Changes stand in the order of the locks that the command reaches, first what
// was let go. A list of ends (locks/commands/ends.h) is looked at end by end, because one may be
// granted what another loses. A function of the shard's commands alone, so equal on every node and
// in a replay. One thread; keeps its memory warm.
#pragma once

#include "locks/cpu/lock_cpu.h"
#include "protocol/watch_messages.h"
#include "server/watch/record.h"

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
  std::vector<WatchChange> after(const locks::LockCpu& locks,
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
  static bool has_hold(const Reached& lock, FencingToken token);
  static void add_ends(const Reached& old,
                       const Reached& now,
                       protocol::WatchEventKind ending,
                       std::vector<WatchChange>& changes);
  static void add_grants(const Reached& old, const Reached& now, std::vector<WatchChange>& changes);
  void reach_wait(const locks::LockCpu& locks, ShardId shard, const locks::LockCommand& command);
  static void add_lost(const locks::LockCpu& locks,
                       ShardId shard,
                       const locks::LockCommand& command,
                       std::vector<WatchChange>& changes);

  std::vector<Reached> reached_;
};

}  // namespace gcoord::server
