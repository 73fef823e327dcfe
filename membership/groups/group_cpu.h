// The groups of one node on the CPU: owns the tables, applies commands, answers reads.
//
// It stands beside the lock machine of the same shards, which keeps their sessions: the caller
// gives it commands of live sessions that are no retries, and tells it which sessions ended, in log
// order per shard. Applying never fails. What changed in the views is listed after each apply, for
// whoever tells watchers. Host only; one thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "common/tables/growing_index.h"
#include "common/tables/growing_pool.h"
#include "common/tables/mapped_column.h"
#include "membership/groups/command.h"
#include "membership/groups/group_table.h"
#include "membership/groups/reply.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::membership {

// Never renumber: it is on the wire.
enum class GroupChangeKind : std::uint8_t { Joined = 1, Left = 2, Updated = 3 };

// A member as a view has it.
struct GroupMember {
  SessionId session;
  std::string id;
  std::string payload;
};

// One change of a view. Several of one group with one epoch are one view.
struct GroupChange {
  ShardId shard;
  NameHash group;
  std::uint64_t epoch = 0;
  GroupChangeKind kind{};
  GroupMember member;
};

// A group as it is now. Of one in which nobody stands: no members, and an epoch that no view of the
// group had after it.
struct GroupView {
  std::uint64_t epoch = 0;
  std::vector<GroupMember> members;  // By rank.
  std::uint32_t barrier_size = 0;
  std::vector<std::string> arrived;  // Ids; of who is no member the session's number.
  std::vector<std::string> missing;  // Ids of members that have not arrived.
};

struct GroupUsage {
  std::uint64_t groups = 0;
  std::uint64_t participants = 0;
};

class GroupCpu {
 public:
  GroupCpu(std::uint32_t shard_count, std::uint64_t index_seed);
  GroupCpu(const GroupCpu&) = delete;
  GroupCpu& operator=(const GroupCpu&) = delete;

  // Applies one command; its name has at most kGroupNameBytesMax bytes.
  GroupReply apply(ShardId shard, const GroupCommand& command);

  // The wait of a session at a barrier of this generation has run out of time.
  GroupReply withdraw(ShardId shard, const Arrival& arrival);

  // These sessions ended in one entry: each group that they were in has one new view.
  void end_sessions(ShardId shard, std::span<const SessionId> sessions);

  // What the latest apply, withdraw or end_sessions changed, in its order.
  const std::vector<GroupChange>& changes() const { return changes_; }

  bool has_session(ShardId shard, SessionId session) const {
    return tables_.shard(shard).group_count != 0 &&
           first_of_session(tables_, shard, session).value != 0;
  }

  // Visits the groups of which the session is a member until one visit says false; a row is another
  // group's once its own is dropped.
  void groups_of(ShardId shard,
                 SessionId session,
                 const std::function<bool(GroupRow)>& visit) const;

  // Appends the sessions of the group's members, by rank.
  void sessions_in(GroupRow group, std::vector<SessionId>& sessions) const;

  GroupView view(ShardId shard, NameHash group) const;

  // Who is alive in the group's newest view; zeros if nobody stands in it.
  AliveWord alive(ShardId shard, NameHash group) const;

  // The epoch of the group, 0 if nobody stands in it.
  std::uint64_t epoch(ShardId shard, NameHash group) const;

  // Whether the arrival stands: the session waits, and the barrier is still that one.
  bool waits(ShardId shard, const Arrival& arrival) const;

  // Chain over what was applied in this shard, equal on replicas; 0 without any command.
  std::uint64_t state_hash(ShardId shard) const { return tables_.shard(shard).state_hash; }

  // Appends the shard's state: canonical, empty where there were no commands.
  void serialize(ShardId shard, std::vector<std::byte>& bytes) const;

  // Replaces the shard's state; on DataLoss the shard is empty. Empty bytes are the initial state.
  Status deserialize(ShardId shard, std::span<const std::byte> bytes);

  GroupUsage usage() const;

  // Whether this node has ever held a command of a group, in this life or in its state.
  bool used() const { return used_; }

  const GroupTables& tables() const { return tables_; }

 private:
  void reserve(std::uint32_t groups, std::uint32_t participants);
  void drop(ShardId shard);
  std::string name_of(ParticipantRow row) const;
  GroupMember member_of(ParticipantRow row) const;

  MappedColumn<GroupShardRow> shards_;  // Pages of shards without groups cost nothing.
  GrowingPool<GroupRecord, GroupRow> groups_;
  GrowingPool<ParticipantRecord, ParticipantRow> participants_;
  MappedColumn<GroupName> names_;
  MappedColumn<AliveWord> alive_;
  MappedColumn<MemberText> texts_;
  GrowingIndex group_index_;
  GrowingIndex session_index_;
  GroupTables tables_;
  std::uint64_t batch_ = 0;
  bool used_ = false;
  std::vector<GroupChange> changes_;
};

}  // namespace gcoord::membership
