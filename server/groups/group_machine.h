// The groups and rendezvous of a node's shards beside its locks: what an applied entry does to
// them.
//
// The lock machine applies each entry first, since it keeps the sessions and their windows of
// requests. A request of a group that it took is applied here, and the answer is kept with the
// window's record, so that a retry gets the same. Sessions that one entry ended leave their groups
// together. Likewise of rendezvous, a table of their own. Deterministic; one thread, the node's
// loop.
#pragma once

#include "common/ids.h"
#include "common/name_hash.h"
#include "common/status.h"
#include "locks/commands/command.h"
#include "locks/commands/reply.h"
#include "locks/cpu/lock_cpu.h"
#include "membership/groups/group_cpu.h"
#include "membership/rendezvous/table.h"
#include "server/groups/view_log.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

// The part of an answer that the window's record keeps: token is its epoch, holder its code and
// number.
locks::LockReply with_answer(locks::LockReply reply, const membership::GroupReply& answer);
membership::GroupReply answer_of(const locks::LockReply& reply);

// The same of a rendezvous: token is the number, holder the code.
locks::LockReply with_rendezvous(locks::LockReply reply, const membership::RendezvousReply& answer);
membership::RendezvousReply rendezvous_of(const locks::LockReply& reply);

// Effects of an entry that somebody may wait for.
struct GroupEffects {
  bool any = false;
  ShardId shard;
  std::vector<NameHash> changed;  // Groups that have another view.
  NameHash released;              // The group whose barrier was released; {}: none.
  std::uint64_t released_generation = 0;
  bool sessions_ended = false;
  std::vector<NameHash> rendezvous{};  // Rendezvous that changed.
};

class GroupMachine {
 public:
  // All of them outlive it.
  struct Tables {
    membership::GroupCpu& groups;
    membership::RendezvousTable& rendezvous;
    locks::LockCpu& locks;
  };

  explicit GroupMachine(const Tables& tables)
      : groups_(tables.groups), rendezvous_(tables.rendezvous), locks_(tables.locks) {}

  // Applies what the lock machine has just applied and answered with `reply`, to which the answer
  // of a group is added.
  void apply(ShardId shard, const locks::LockCommand& command, locks::LockReply& reply);

  // Of the latest apply().
  const GroupEffects& effects() const { return effects_; }

  const ViewLog& log() const { return log_; }

  const membership::GroupCpu& groups() const { return groups_; }

  const membership::RendezvousTable& rendezvous() const { return rendezvous_; }

  // All machines apply the same entries, this one first.
  locks::LockCpu& locks() { return locks_; }

  const locks::LockCpu& locks() const { return locks_; }

  // The header before the lock machine's part of a shard's state.
  void serialize(ShardId shard, std::vector<std::byte>& bytes) const {
    groups_.serialize(shard, bytes);
    rendezvous_.serialize(shard, bytes);
  }

  // Takes its parts of a state; the rest, which is the lock machine's, is `locks`.
  Status install(ShardId shard,
                 std::span<const std::byte> state,
                 std::span<const std::byte>& locks);

  // Whether these parts could have been written by serialize(); `locks` as above.
  static bool plausible(std::span<const std::byte> state, std::span<const std::byte>& locks);

  std::uint64_t state_hash(ShardId shard) const;

 private:
  void apply_request(ShardId shard, const locks::LockCommand& command, locks::LockReply& reply);
  void apply_rendezvous(ShardId shard, const locks::LockCommand& command, locks::LockReply& reply);
  void apply_withdrawal(ShardId shard, const locks::LockCommand& command, locks::LockReply& reply);
  void apply_ends(ShardId shard, const locks::LockCommand& command);
  void take_changes(ShardId shard);
  void take_rendezvous(ShardId shard);

  membership::GroupCpu& groups_;
  membership::RendezvousTable& rendezvous_;
  locks::LockCpu& locks_;
  ViewLog log_;
  GroupEffects effects_;
};

}  // namespace gcoord::server
