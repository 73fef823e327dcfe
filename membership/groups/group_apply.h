// The pure step of groups: apply(tables, shard, command) -> reply, and changes of views.
//
// It begins behind the lock machine, which has found that the command's session lives and that the
// request is no retry. Content and replies depend on the shard's commands alone. The driver has
// reserved a group and a participant (group_cpu.h), so applying cannot fail. Each change of the
// member set raises the group's epoch by one; the ends of several sessions in one entry raise it
// once. Every loop is bounded by kGroupParticipantsMax, or by what one session is part of.
//
// `changes` is called with joined, left or updated (GroupRow, ParticipantRow) when the epoch has
// risen and while the participant is still there. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "membership/groups/command.h"
#include "membership/groups/group_links.h"
#include "membership/groups/group_table.h"
#include "membership/groups/reply.h"

#include <cstdint>

namespace gcoord::membership {

// Odd, so that one wrong word always shows; see locks/state/chain.h.
inline constexpr std::uint64_t kGroupChainStep = 0x9e3779b97f4a7c17u;

// Where a command is applied. `batch` is another one for each entry of the log, never 0.
struct GroupPoint {
  const GroupTables& tables;
  ShardId shard;
  std::uint64_t batch = 0;
};

GCOORD_HD inline void copy_text(const char* from, std::uint32_t bytes, char* to) {
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < bytes; ++i) {
    to[i] = from[i];
  }
}

struct TextView {
  const char* text = nullptr;
  std::uint32_t bytes = 0;
};

GCOORD_HD inline bool same_text(const TextView& a, const TextView& b) {
  bool same = a.bytes == b.bytes;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; same && i < a.bytes; ++i) {
    same = a.text[i] == b.text[i];
  }
  return same;
}

// FNV-1a, for the chain alone.
GCOORD_HD inline std::uint64_t text_word(const char* text, std::uint32_t bytes) {
  std::uint64_t word = 0xcbf29ce484222325u;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < bytes; ++i) {
    word = (word ^ static_cast<unsigned char>(text[i])) * 0x100000001b3u;
  }
  return word;
}

GCOORD_HD inline void extend_chain(const GroupPoint& at, std::uint64_t word) {
  GroupShardRow& shard = at.tables.shard(at.shard);
  shard.state_hash = shard.state_hash * kGroupChainStep + mix64(word);
  shard.state_hash += shard.state_hash == 0 ? 1 : 0;  // 0 says that there were no commands.
}

// After each change of the members.
GCOORD_HD inline void publish_alive(const GroupPoint& at, GroupRow row) {
  const GroupRecord& group = at.tables.groups[row];
  at.tables.alive[row.value] = alive_word_of_view(group.epoch, group.member_count);
}

// The members of the group change: once for each entry of the log.
GCOORD_HD inline void raise_epoch(const GroupPoint& at, GroupRecord& group) {
  group.epoch += group.batch == at.batch ? 0 : 1;
  group.batch = at.batch;
}

GCOORD_HD inline bool id_taken(const GroupTables& tables,
                               const GroupRecord& group,
                               const GroupCommand& command) {
  ParticipantRow row = group.first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kGroupParticipantsMax && row.value != 0; ++i) {
    const ParticipantRecord& each = tables.participants[row];
    const MemberText& text = tables.texts[row.value];
    if (each.member && same_text({text.id, text.id_bytes}, {command.id, command.id_bytes})) {
      return true;
    }
    row = each.next;
  }
  return false;
}

GCOORD_HD inline void set_payload(MemberText& text, const GroupCommand& command) {
  text.payload_bytes = command.payload_bytes;
  copy_text(command.payload, command.payload_bytes, text.payload);
}

GCOORD_HD inline GroupRow find_or_enter(const GroupPoint& at, const GroupCommand& command) {
  const GroupRow found = find_group(at.tables, at.shard, command.name_hash);
  if (found.value != 0) {
    return found;
  }
  const GroupRow row = enter_group(at.tables, at.shard, command.name_hash);
  at.tables.names[row.value].bytes = command.name_bytes;
  copy_text(command.name, command.name_bytes, at.tables.names[row.value].text);
  return row;
}

// Whether this would be one group more than the shard's state may have.
GCOORD_HD inline bool is_shard_full(const GroupPoint& at, GroupRow found) {
  return found.value == 0 && at.tables.shard(at.shard).group_count >= kGroupsPerShardMax;
}

// Of a session that is a member already.
GCOORD_HD inline GroupReply join_again(const GroupTables& tables,
                                       const GroupCommand& command,
                                       ParticipantRow row) {
  const MemberText& text = tables.texts[row.value];
  const bool same = same_text({text.id, text.id_bytes}, {command.id, command.id_bytes});
  return {.code = same ? GroupCode::AlreadyMember : GroupCode::MemberIdDiffers,
          .epoch = tables.groups[tables.participants[row].group].epoch,
          .number = rank_of(tables, row)};
}

template <typename Changes>
GCOORD_HD GroupReply apply_join(const GroupPoint& at,
                                const GroupCommand& command,
                                const Changes& changes) {
  const GroupTables& tables = at.tables;
  const GroupRow found = find_group(tables, at.shard, command.name_hash);
  if (is_shard_full(at, found)) {
    return {.code = GroupCode::ShardFull};
  }
  ParticipantRow row{};
  if (found.value != 0) {
    row = find_participant(tables, found, command.session);
    const GroupRecord& group = tables.groups[found];
    if (row.value != 0 && tables.participants[row].member) {
      return join_again(tables, command, row);
    }
    if (id_taken(tables, group, command)) {
      return {.code = GroupCode::MemberIdTaken, .epoch = group.epoch};
    }
    if (group.member_count == kGroupMembersMax) {
      return {.code = GroupCode::GroupFull, .epoch = group.epoch, .number = group.member_count};
    }
  }
  const GroupRow group_row = find_or_enter(at, command);
  if (row.value == 0) {
    row = enter_participant(tables, group_row, command.session);
  } else {
    unlink_from_group(tables, row);  // It waits at the barrier: its rank is that of now.
    link_to_group(tables, row);
  }
  MemberText& text = tables.texts[row.value];
  text.id_bytes = command.id_bytes;
  copy_text(command.id, command.id_bytes, text.id);
  set_payload(text, command);
  GroupRecord& group = tables.groups[group_row];
  tables.participants[row].member = true;
  ++group.member_count;
  raise_epoch(at, group);
  publish_alive(at, group_row);
  changes.joined(group_row, row);
  return {.code = GroupCode::Joined, .epoch = group.epoch, .number = group.member_count - 1};
}

// Takes a member out of the view; it stays a participant while it waits at the barrier.
template <typename Changes>
GCOORD_HD void end_membership(const GroupPoint& at, ParticipantRow row, const Changes& changes) {
  ParticipantRecord& each = at.tables.participants[row];
  GroupRecord& group = at.tables.groups[each.group];
  raise_epoch(at, group);
  changes.left(each.group, row);
  each.member = false;
  --group.member_count;
  publish_alive(at, each.group);
}

template <typename Changes>
GCOORD_HD GroupReply apply_leave(const GroupPoint& at, ParticipantRow row, const Changes& changes) {
  end_membership(at, row, changes);
  const ParticipantRecord& each = at.tables.participants[row];
  const GroupReply reply{.code = GroupCode::Left, .epoch = at.tables.groups[each.group].epoch};
  if (!each.arrived) {
    remove_participant(at.tables, row);
  }
  return reply;
}

// Where a member stands.
struct MemberPoint {
  const GroupPoint& at;
  ParticipantRow row;
};

template <typename Changes>
GCOORD_HD GroupReply apply_update(const MemberPoint& member,
                                  const GroupCommand& command,
                                  const Changes& changes) {
  const GroupTables& tables = member.at.tables;
  const GroupRow group_row = tables.participants[member.row].group;
  GroupRecord& group = tables.groups[group_row];
  set_payload(tables.texts[member.row.value], command);
  raise_epoch(member.at, group);
  publish_alive(member.at, group_row);
  changes.updated(group_row, member.row);
  return {.code = GroupCode::Updated, .epoch = group.epoch, .number = rank_of(tables, member.row)};
}

// Everybody has come: nobody waits any more, and who is no member goes.
GCOORD_HD inline void release_barrier(const GroupTables& tables, GroupRow group_row) {
  GroupRecord& group = tables.groups[group_row];
  group.arrived_count = 0;
  group.barrier_size = 0;
  ParticipantRow row = group.first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i < kGroupParticipantsMax && row.value != 0; ++i) {
    ParticipantRecord& each = tables.participants[row];
    const ParticipantRow next = each.next;
    each.arrived = false;
    if (!each.member) {
      remove_participant(tables, row);
    }
    row = next;
  }
}

GCOORD_HD inline GroupReply apply_arrive(const GroupPoint& at, const GroupCommand& command) {
  const GroupTables& tables = at.tables;
  if (is_shard_full(at, find_group(tables, at.shard, command.name_hash))) {
    return {.code = GroupCode::ShardFull};
  }
  const GroupRow group_row = find_or_enter(at, command);
  GroupRecord& group = tables.groups[group_row];
  if (group.arrived_count > 0 && group.barrier_size != command.barrier_size) {
    return {
        .code = GroupCode::SizeDiffers, .epoch = group.generation, .number = group.barrier_size};
  }
  ParticipantRow row = find_participant(tables, group_row, command.session);
  if (row.value == 0) {
    row = enter_participant(tables, group_row, command.session);
  }
  if (group.arrived_count == 0) {
    group.generation = ++tables.shard(at.shard).generation_last;
    group.barrier_size = command.barrier_size;
  }
  group.arrived_count += tables.participants[row].arrived ? 0 : 1;
  tables.participants[row].arrived = true;
  GroupReply reply{
      .code = GroupCode::Arrived, .epoch = group.generation, .number = group.arrived_count};
  if (group.arrived_count == group.barrier_size) {
    reply.code = GroupCode::Released;
    release_barrier(tables, group_row);
  }
  return reply;
}

// Takes one arrival back, unless the barrier was released meanwhile.
GCOORD_HD inline void end_arrival(const GroupTables& tables, ParticipantRow row) {
  ParticipantRecord& each = tables.participants[row];
  GroupRecord& group = tables.groups[each.group];
  GCOORD_ASSERT(each.arrived && group.arrived_count > 0);
  each.arrived = false;
  --group.arrived_count;
  group.barrier_size = group.arrived_count == 0 ? 0 : group.barrier_size;
}

template <typename Changes>
GCOORD_HD GroupReply apply_kind(const GroupPoint& at,
                                const GroupCommand& command,
                                const Changes& changes) {
  if (command.op == GroupOp::Join) {
    return apply_join(at, command, changes);
  }
  if (command.op == GroupOp::Arrive) {
    return apply_arrive(at, command);
  }
  if (command.op == GroupOp::Malformed) {
    return {.code = GroupCode::Malformed};
  }
  const GroupRow group = find_group(at.tables, at.shard, command.name_hash);
  const ParticipantRow row =
      group.value == 0 ? ParticipantRow{} : find_participant(at.tables, group, command.session);
  if (row.value == 0 || !at.tables.participants[row].member) {
    return {.code = GroupCode::NotMember,
            .epoch = group.value == 0 ? epoch_floor(at.tables.shard(at.shard))
                                      : at.tables.groups[group].epoch};
  }
  return command.op == GroupOp::Leave ? apply_leave(at, row, changes)
                                      : apply_update({at, row}, command, changes);
}

// Applies one command of a live session, whose name and texts keep the limits.
template <typename Changes>
GCOORD_HD GroupReply apply(const GroupPoint& at,
                           const GroupCommand& command,
                           const Changes& changes) {
  GCOORD_ASSERT(at.batch != 0);
  const GroupReply reply = apply_kind(at, command, changes);
  GCOORD_ASSERT(reply.code != GroupCode::None);
  extend_chain(at,
               mix64(static_cast<std::uint64_t>(command.op) << 40 |
                     std::uint64_t{reply.number} << 8 | static_cast<std::uint64_t>(reply.code)) ^
                   mix64(command.session.value + reply.epoch) ^ mix64(command.name_hash.low) ^
                   text_word(command.id, command.id_bytes) ^
                   text_word(command.payload, command.payload_bytes) * 3);
  return reply;
}

// The deadline of a session's wait at a barrier has passed.
GCOORD_HD inline GroupReply apply_withdraw(const GroupPoint& at, const Arrival& arrival) {
  const GroupRow group = find_group(at.tables, at.shard, arrival.group);
  const ParticipantRow row =
      group.value == 0 ? ParticipantRow{} : find_participant(at.tables, group, arrival.session);
  GroupReply reply{.code = GroupCode::NotArrived, .epoch = arrival.generation};
  if (row.value != 0 && at.tables.participants[row].arrived &&
      at.tables.groups[group].generation == arrival.generation) {
    end_arrival(at.tables, row);
    reply.code = GroupCode::TimedOut;
    reply.number = at.tables.groups[group].arrived_count;
    if (!at.tables.participants[row].member) {
      remove_participant(at.tables, row);
    }
  }
  extend_chain(at,
               mix64(arrival.session.value) ^ mix64(arrival.generation) ^ mix64(arrival.group.low) ^
                   static_cast<std::uint64_t>(reply.code));
  return reply;
}

// The session is over: it leaves everything that it is part of in this shard.
template <typename Changes>
GCOORD_HD void end_session(const GroupPoint& at, SessionId session, const Changes& changes) {
  const GroupTables& tables = at.tables;
  ParticipantRow row = first_of_session(tables, at.shard, session);
  if (row.value == 0) {
    return;
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i <= tables.participants.capacity && row.value != 0; ++i) {
    const ParticipantRow next = tables.participants[row].session_next;
    if (tables.participants[row].member) {
      end_membership(at, row, changes);
    }
    if (tables.participants[row].arrived) {
      end_arrival(tables, row);
    }
    remove_participant(tables, row);
    row = next;
  }
  extend_chain(at, mix64(session.value) ^ 0x656e64u);  // "end"
}

}  // namespace gcoord::membership
