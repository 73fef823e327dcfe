#include "membership/groups/group_cpu.h"

#include "common/assert.h"
#include "membership/groups/group_apply.h"
#include "membership/groups/snapshot.h"

#include <algorithm>
#include <utility>

namespace gcoord::membership {
namespace {

constexpr std::uint32_t kRowsInitial = 64;

// Lists what the step changes.
template <typename MemberOf>
struct ChangeList {
  const GroupTables& tables;
  const MemberOf& member_of;
  std::vector<GroupChange>& changes;

  void joined(GroupRow group, ParticipantRow row) const {
    add(GroupChangeKind::Joined, group, row);
  }

  void left(GroupRow group, ParticipantRow row) const { add(GroupChangeKind::Left, group, row); }

  void updated(GroupRow group, ParticipantRow row) const {
    add(GroupChangeKind::Updated, group, row);
  }

  void add(GroupChangeKind kind, GroupRow group_row, ParticipantRow row) const {
    const GroupRecord& group = tables.groups[group_row];
    changes.push_back({group.shard, group.name_hash, group.epoch, kind, member_of(row)});
  }
};

}  // namespace

GroupCpu::GroupCpu(std::uint32_t shard_count, std::uint64_t index_seed) {
  GCOORD_ASSERT(shard_count > 0);
  shards_.resize(shard_count);
  tables_.shards = shards_.data();
  tables_.shard_count = shard_count;
  tables_.index_seed = index_seed;
  reserve(kRowsInitial, kRowsInitial);
}

void GroupCpu::reserve(std::uint32_t groups, std::uint32_t participants) {
  if (groups_.grow(tables_.groups, groups) || group_index_.moving()) {
    group_index_.reserve(tables_.groups.capacity);
    tables_.group_index = group_index_.view();
    names_.resize(std::size_t{tables_.groups.capacity} + 1);
    tables_.names = names_.data();
    alive_.resize(std::size_t{tables_.groups.capacity} + 1);
    tables_.alive = alive_.data();
  }
  if (participants_.grow(tables_.participants, participants) || session_index_.moving()) {
    session_index_.reserve(tables_.participants.capacity);
    tables_.session_index = session_index_.view();
    texts_.resize(std::size_t{tables_.participants.capacity} + 1);
    tables_.texts = texts_.data();
  }
}

GroupReply GroupCpu::apply(ShardId shard, const GroupCommand& command) {
  GCOORD_ASSERT(command.name_bytes <= kGroupNameBytesMax);
  reserve(1, 1);
  used_ = true;
  changes_.clear();
  const auto member = [this](ParticipantRow row) { return member_of(row); };
  return membership::apply(
      {tables_, shard, ++batch_}, command, ChangeList<decltype(member)>{tables_, member, changes_});
}

GroupReply GroupCpu::withdraw(ShardId shard, const Arrival& arrival) {
  changes_.clear();
  return apply_withdraw({tables_, shard, ++batch_}, arrival);
}

void GroupCpu::end_sessions(ShardId shard, std::span<const SessionId> sessions) {
  changes_.clear();
  const auto member = [this](ParticipantRow row) { return member_of(row); };
  const GroupPoint at{tables_, shard, ++batch_};
  for (const SessionId session : sessions) {
    end_session(at, session, ChangeList<decltype(member)>{tables_, member, changes_});
  }
}

GroupMember GroupCpu::member_of(ParticipantRow row) const {
  const MemberText& text = tables_.texts[row.value];
  return {tables_.participants[row].session,
          std::string{text.id, text.id_bytes},
          std::string{text.payload, text.payload_bytes}};
}

// A member's id; of a session that waits without being a member its number.
std::string GroupCpu::name_of(ParticipantRow row) const {
  const ParticipantRecord& each = tables_.participants[row];
  return each.member ? std::string{tables_.texts[row.value].id, tables_.texts[row.value].id_bytes}
                     : "session " + std::to_string(each.session.value);
}

void GroupCpu::groups_of(ShardId shard,
                         SessionId session,
                         const std::function<bool(GroupRow)>& visit) const {
  if (!has_session(shard, session)) {
    return;
  }
  ParticipantRow at = first_of_session(tables_, shard, session);
  for (; at.value != 0; at = tables_.participants[at].session_next) {
    if (tables_.participants[at].member && !visit(tables_.participants[at].group)) {
      return;
    }
  }
}

void GroupCpu::sessions_in(GroupRow group, std::vector<SessionId>& sessions) const {
  ParticipantRow at = tables_.groups[group].first;
  for (; at.value != 0; at = tables_.participants[at].next) {
    if (tables_.participants[at].member) {
      sessions.push_back(tables_.participants[at].session);
    }
  }
}

GroupView GroupCpu::view(ShardId shard, NameHash name) const {
  const GroupRow row = find_group(tables_, shard, name);
  if (row.value == 0) {
    return {
        .epoch = epoch_floor(tables_.shard(shard)), .members = {}, .arrived = {}, .missing = {}};
  }
  const GroupRecord& group = tables_.groups[row];
  GroupView view{.epoch = group.epoch,
                 .members = {},
                 .barrier_size = group.barrier_size,
                 .arrived = {},
                 .missing = {}};
  for (ParticipantRow at = group.first; at.value != 0; at = tables_.participants[at].next) {
    const ParticipantRecord& each = tables_.participants[at];
    if (each.member) {
      view.members.push_back(member_of(at));
    }
    if (group.barrier_size != 0) {
      (each.arrived ? view.arrived : view.missing).push_back(name_of(at));
    }
  }
  return view;
}

AliveWord GroupCpu::alive(ShardId shard, NameHash name) const {
  const GroupRow row = find_group(tables_, shard, name);
  return row.value == 0 ? AliveWord{} : tables_.alive[row.value];
}

std::uint64_t GroupCpu::epoch(ShardId shard, NameHash name) const {
  const GroupRow row = find_group(tables_, shard, name);
  return row.value == 0 ? 0 : tables_.groups[row].epoch;
}

bool GroupCpu::waits(ShardId shard, const Arrival& arrival) const {
  const GroupRow group = find_group(tables_, shard, arrival.group);
  const ParticipantRow row =
      group.value == 0 ? ParticipantRow{} : find_participant(tables_, group, arrival.session);
  return row.value != 0 && tables_.participants[row].arrived &&
         tables_.groups[group].generation == arrival.generation;
}

void GroupCpu::serialize(ShardId shard, std::vector<std::byte>& bytes) const {
  if (tables_.shard(shard).state_hash != 0) {
    write_snapshot(snapshot_of(tables_, shard), bytes);
  }
}

void GroupCpu::drop(ShardId shard) {
  GroupShardRow& row = tables_.shard(shard);
  while (row.group_first.value != 0) {
    const GroupRecord& group = tables_.groups[row.group_first];
    const std::uint32_t participants = group.participant_count;
    ParticipantRow at = group.first;
    for (std::uint32_t i = 0; i < participants; ++i) {
      const ParticipantRow next = tables_.participants[at].next;
      remove_participant(tables_, at);  // The group goes with the last.
      at = next;
    }
  }
  row = GroupShardRow{};
}

Status GroupCpu::deserialize(ShardId shard, std::span<const std::byte> bytes) {
  drop(shard);
  if (bytes.empty()) {
    return {};
  }
  GCOORD_TRY(const GroupSnapshot snapshot, parse_snapshot(bytes));
  used_ = true;
  GroupShardRow& row = tables_.shard(shard);
  for (std::size_t place = snapshot.groups.size(); place-- > 0;) {
    const GroupSnapshot::Group& source = snapshot.groups[place];
    reserve(1, static_cast<std::uint32_t>(source.participants.size()));
    const GroupRow group_row = enter_group(tables_, shard, hash_name(source.name));
    GroupRecord& group = tables_.groups[group_row];
    GroupName& name = tables_.names[group_row.value];
    name.bytes = static_cast<std::uint16_t>(source.name.size());
    std::ranges::copy(source.name, name.text);
    group.epoch = source.epoch;
    group.generation = source.generation;
    group.barrier_size = source.barrier_size;
    for (const GroupSnapshot::Participant& each : source.participants) {
      const ParticipantRow at = enter_participant(tables_, group_row, each.session);
      ParticipantRecord& participant = tables_.participants[at];
      MemberText& text = tables_.texts[at.value];
      participant.member = each.member;
      participant.arrived = each.arrived;
      text.id_bytes = static_cast<std::uint16_t>(each.id.size());
      std::ranges::copy(each.id, text.id);
      text.payload_bytes = static_cast<std::uint16_t>(each.payload.size());
      std::ranges::copy(each.payload, text.payload);
      group.member_count += each.member ? 1 : 0;
      group.arrived_count += each.arrived ? 1 : 0;
    }
    tables_.alive[group_row.value] = alive_word_of_view(group.epoch, group.member_count);
  }
  row.epoch_last = snapshot.epoch_last;
  row.generation_last = snapshot.generation_last;
  row.state_hash = snapshot.state_hash;
  return {};
}

GroupUsage GroupCpu::usage() const {
  return {.groups = groups_.window.next, .participants = participants_.window.next};
}

}  // namespace gcoord::membership
