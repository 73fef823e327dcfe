// The columns of groups: one set per node serves all of its shards.
//
// A group exists while somebody stands in it. It has its participants in one list, in the order in
// which they came: members, whose place among the members is their rank, and sessions that wait at
// the group's barrier without being members. A participant is also in a list of its session, so
// that the end of a session finds all that it is part of. Texts stand in columns of their own under
// the same row number, so that a walk over records touches no text.
//
// Rows are numbers of one node and never leave it. A plain view, copied by value; one writer per
// shard. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"
#include "common/name_hash.h"
#include "common/random.h"
#include "common/tables/hash_index.h"
#include "common/tables/row_pool.h"
#include "membership/alive/word.h"
#include "membership/groups/limits.h"
#include "sessions/record.h"

#include <cstdint>

namespace gcoord::membership {

using GroupRow = StrongId<struct GroupRowTag, std::uint32_t>;
using ParticipantRow = StrongId<struct ParticipantRowTag, std::uint32_t>;

struct GroupShardRow {
  std::uint64_t epoch_last = 0;       // No group that went had a higher one.
  std::uint64_t generation_last = 0;  // Of barriers.
  std::uint64_t state_hash = 0;       // Chain over commands and what they left; 0: there were none.
  GroupRow group_first;               // Newest first.
  std::uint32_t group_count = 0;
};

struct GroupRecord {
  NameHash name_hash;
  std::uint64_t epoch = 0;  // Of the newest view; rises by one with each change of the members.
  // Which apply changed it last, so that what one entry does makes one view. Of this node alone.
  std::uint64_t batch = 0;
  std::uint64_t generation = 0;  // Of the barrier at which somebody waits.
  ShardId shard = sessions::kNoShard;
  GroupRow shard_next;
  GroupRow shard_previous;
  ParticipantRow first;  // Oldest first.
  ParticipantRow last;
  std::uint32_t member_count = 0;
  std::uint32_t participant_count = 0;
  std::uint32_t arrived_count = 0;
  std::uint32_t barrier_size = 0;  // 0: nobody waits.
};

struct ParticipantRecord {
  SessionId session;
  GroupRow group;
  ParticipantRow next;
  ParticipantRow previous;
  ParticipantRow session_next;
  ParticipantRow session_previous;
  bool member = false;
  bool arrived = false;  // It waits at the barrier.
};

struct GroupName {
  std::uint16_t bytes;
  char text[kGroupNameBytesMax];
};

struct MemberText {
  std::uint16_t id_bytes;
  std::uint16_t payload_bytes;
  char id[kMemberIdBytesMax];
  char payload[kMemberPayloadBytesMax];
};

struct GroupTables {
  GroupShardRow* shards = nullptr;
  std::uint32_t shard_count = 0;
  std::uint64_t index_seed = 0;  // Differs per node, unknown to clients.
  RowPool<GroupRecord, GroupRow> groups;
  RowPool<ParticipantRecord, ParticipantRow> participants;
  GroupName* names = nullptr;   // By the group's row.
  AliveWord* alive = nullptr;   // Likewise: of the newest view, for readers that copy the column.
  MemberText* texts = nullptr;  // By the participant's row.
  MovingIndex group_index;      // By shard and name.
  MovingIndex session_index;    // By shard and session: the first in the session's list.

  GCOORD_HD GroupShardRow& shard(ShardId id) const {
    GCOORD_ASSERT(id.value < shard_count);
    return shards[id.value];
  }

  GCOORD_HD std::uint32_t group_hash(ShardId id, NameHash name) const {
    return static_cast<std::uint32_t>(mix64(name.low ^ mix64(name.high ^ index_seed ^ id.value)));
  }

  GCOORD_HD std::uint32_t session_hash(ShardId id, SessionId session) const {
    return static_cast<std::uint32_t>(mix64(session.value ^ mix64(index_seed ^ id.value)));
  }
};

struct IsGroup {
  const GroupTables* tables;
  ShardId shard;
  NameHash name;

  GCOORD_HD bool operator()(std::uint32_t row) const {
    const GroupRecord& group = tables->groups[GroupRow{row}];
    return group.name_hash == name && group.shard == shard;
  }
};

struct IsOfSession {
  const GroupTables* tables;
  ShardId shard;
  SessionId session;

  GCOORD_HD bool operator()(std::uint32_t row) const {
    const ParticipantRecord& each = tables->participants[ParticipantRow{row}];
    return each.session == session && each.group.value != 0 &&
           tables->groups[each.group].shard == shard;
  }
};

// The epoch of a group in which nobody stands: no view of it had a higher one. From 1, so that 0 is
// nobody's.
GCOORD_HD constexpr std::uint64_t epoch_floor(const GroupShardRow& shard) {
  return shard.epoch_last == 0 ? 1 : shard.epoch_last;
}

// The group of this name, or none.
GCOORD_HD inline GroupRow find_group(const GroupTables& tables, ShardId shard, NameHash name) {
  return GroupRow{
      tables.group_index.find(tables.group_hash(shard, name), IsGroup{&tables, shard, name})};
}

// The first of what the session is part of in this shard, or none.
GCOORD_HD inline ParticipantRow first_of_session(const GroupTables& tables,
                                                 ShardId shard,
                                                 SessionId session) {
  return ParticipantRow{tables.session_index.find(tables.session_hash(shard, session),
                                                  IsOfSession{&tables, shard, session})};
}

// The session's place in the group, or none.
GCOORD_HD inline ParticipantRow find_participant(const GroupTables& tables,
                                                 GroupRow group,
                                                 SessionId session) {
  ParticipantRow row = tables.groups[group].first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kGroupParticipantsMax && row.value != 0; ++i) {
    if (tables.participants[row].session == session) {
      return row;
    }
    row = tables.participants[row].next;
  }
  return ParticipantRow{};
}

// A member's rank: how many of the members came before it.
GCOORD_HD inline std::uint32_t rank_of(const GroupTables& tables, ParticipantRow member) {
  std::uint32_t rank = 0;
  ParticipantRow row = tables.participants[member].previous;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kGroupParticipantsMax && row.value != 0; ++i) {
    rank += tables.participants[row].member ? 1u : 0u;
    row = tables.participants[row].previous;
  }
  return rank;
}

}  // namespace gcoord::membership
