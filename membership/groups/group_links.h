// The lists of groups and of who stands in them: entered, moved, removed.
//
// A group goes with the last who stood in it; its epoch stays behind as the shard's floor, so that
// no epoch of a name is ever used twice. Pure functions over the tables; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/tables/row_list.h"
#include "membership/groups/group_table.h"

#include <cstdint>

namespace gcoord::membership {

using GroupList = RowList<&GroupRecord::shard_next, &GroupRecord::shard_previous>;
using ParticipantList = RowList<&ParticipantRecord::next, &ParticipantRecord::previous>;

// An empty group, whose text is the caller's to set.
GCOORD_HD inline GroupRow enter_group(const GroupTables& tables, ShardId shard_id, NameHash name) {
  GroupShardRow& shard = tables.shard(shard_id);
  const GroupRow row = tables.groups.take();
  GroupRecord& group = tables.groups[row];
  group.name_hash = name;
  group.shard = shard_id;
  group.epoch = epoch_floor(shard);
  tables.alive[row.value] = AliveWord{group.epoch, 0};
  GroupList::push_first(tables.groups, row, shard.group_first);
  ++shard.group_count;
  tables.group_index.insert(tables.group_hash(shard_id, name), row.value);
  return row;
}

GCOORD_HD inline void remove_group(const GroupTables& tables, GroupRow row) {
  GroupRecord& group = tables.groups[row];
  GCOORD_ASSERT(group.participant_count == 0);
  GroupShardRow& shard = tables.shard(group.shard);
  shard.epoch_last = shard.epoch_last < group.epoch ? group.epoch : shard.epoch_last;
  GroupList::unlink(tables.groups, row, shard.group_first);
  --shard.group_count;
  tables.group_index.erase(tables.group_hash(group.shard, group.name_hash), row.value);
  group.shard = sessions::kNoShard;
  tables.groups.give_back(row);
}

// Puts a participant at the newest end of its group.
GCOORD_HD inline void link_to_group(const GroupTables& tables, ParticipantRow row) {
  GroupRecord& group = tables.groups[tables.participants[row].group];
  ParticipantList::push_last(
      tables.participants, row, RowEnds<ParticipantRow>{group.first, group.last});
  ++group.participant_count;
}

GCOORD_HD inline void unlink_from_group(const GroupTables& tables, ParticipantRow row) {
  GroupRecord& group = tables.groups[tables.participants[row].group];
  ParticipantList::unlink(
      tables.participants, row, RowEnds<ParticipantRow>{group.first, group.last});
  --group.participant_count;
}

GCOORD_HD inline ParticipantRow enter_participant(const GroupTables& tables,
                                                  GroupRow group,
                                                  SessionId session) {
  const ShardId shard = tables.groups[group].shard;
  const std::uint32_t hash = tables.session_hash(shard, session);
  const ParticipantRow head = first_of_session(tables, shard, session);
  const ParticipantRow row = tables.participants.take();
  ParticipantRecord& each = tables.participants[row];
  each.session = session;
  each.group = group;
  each.session_next = head;
  if (head.value != 0) {
    tables.participants[head].session_previous = row;
    tables.session_index.erase(hash, head.value);
  }
  tables.session_index.insert(hash, row.value);
  link_to_group(tables, row);
  return row;
}

// Removes a participant; its group goes with the last one.
GCOORD_HD inline void remove_participant(const GroupTables& tables, ParticipantRow row) {
  ParticipantRecord& each = tables.participants[row];
  const GroupRow group = each.group;
  const std::uint32_t hash = tables.session_hash(tables.groups[group].shard, each.session);
  if (each.session_previous.value != 0) {
    tables.participants[each.session_previous].session_next = each.session_next;
  } else {
    tables.session_index.erase(hash, row.value);
    if (each.session_next.value != 0) {
      tables.session_index.insert(hash, each.session_next.value);
    }
  }
  if (each.session_next.value != 0) {
    tables.participants[each.session_next].session_previous = each.session_previous;
  }
  unlink_from_group(tables, row);
  each.session = SessionId{};
  each.group = GroupRow{};
  tables.participants.give_back(row);
  if (tables.groups[group].participant_count == 0) {
    remove_group(tables, group);
  }
}

}  // namespace gcoord::membership
