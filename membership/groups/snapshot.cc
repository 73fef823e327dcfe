#include "membership/groups/snapshot.h"

#include "common/bytes.h"
#include "common/utf8.h"
#include "membership/groups/command.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace gcoord::membership {
namespace {

constexpr std::size_t kLengthOffset = 4 + 2;
constexpr std::size_t kHeaderBytes = kLengthOffset + 4 + 8 + 8 + 8 + 4;
constexpr std::size_t kGroupBytesMin = 2 + 1 + 8 + 8 + 4 + 4;
constexpr std::size_t kParticipantBytesMin = 8 + 1 + 1 + 2;
constexpr std::uint8_t kMember = 1;
constexpr std::uint8_t kArrived = 2;
// No epoch and no generation of a cluster gets near it.
constexpr std::uint64_t kNumberMax = ~std::uint64_t{0} / 2;

Status bad(const char* what) {
  return Status{StatusCode::DataLoss, std::string{"group snapshot: "} + what};
}

bool participant_sound(const GroupSnapshot::Participant& each) {
  if (each.session.value == 0 || each.session == sessions::kKeeperSession) {
    return false;
  }
  return each.member ? member_id_sound(each.id)
                     : each.arrived && each.id.empty() && each.payload.empty();
}

GroupSnapshot::Participant read_participant(ByteReader& reader, bool& sound) {
  GroupSnapshot::Participant each;
  each.session = SessionId{reader.integer<std::uint64_t>()};
  const auto flags = reader.integer<std::uint8_t>();
  each.member = (flags & kMember) != 0;
  each.arrived = (flags & kArrived) != 0;
  each.id = reader.bytes(reader.integer<std::uint8_t>());
  each.payload = reader.text(kMemberPayloadBytesMax);
  sound = sound && (flags & ~(kMember | kArrived)) == 0 && participant_sound(each);
  return each;
}

bool group_sound(const GroupSnapshot::Group& group) {
  std::unordered_set<std::uint64_t> sessions;
  std::unordered_set<std::string_view> ids;
  std::uint32_t members = 0;
  std::uint32_t arrived = 0;
  for (const GroupSnapshot::Participant& each : group.participants) {
    members += each.member ? 1 : 0;
    arrived += each.arrived ? 1 : 0;
    if (!sessions.insert(each.session.value).second ||
        (each.member && !ids.insert(each.id).second)) {
      return false;
    }
  }
  const bool waits = arrived != 0;
  return !group.participants.empty() && members <= kGroupMembersMax &&
         group.barrier_size <= kGroupMembersMax && waits == (group.barrier_size != 0) &&
         (!waits || arrived < group.barrier_size) && !group.name.empty() &&
         utf8_well_formed(group.name);
}

GroupSnapshot::Group read_group(ByteReader& reader, bool& sound) {
  GroupSnapshot::Group group;
  group.name = reader.text(kGroupNameBytesMax);
  group.epoch = reader.integer<std::uint64_t>();
  group.generation = reader.integer<std::uint64_t>();
  group.barrier_size = reader.integer<std::uint32_t>();
  group.participants.resize(reader.count(kParticipantBytesMin, kGroupParticipantsMax));
  for (GroupSnapshot::Participant& each : group.participants) {
    each = read_participant(reader, sound);
  }
  sound = sound && reader.ok() && group_sound(group);
  return group;
}

bool numbers_sound(const GroupSnapshot& snapshot) {
  std::unordered_set<std::string_view> names;
  bool sound = snapshot.epoch_last <= kNumberMax && snapshot.generation_last <= kNumberMax;
  for (const GroupSnapshot::Group& group : snapshot.groups) {
    sound = sound && names.insert(group.name).second && group.epoch <= kNumberMax &&
            group.generation <= snapshot.generation_last;
  }
  return sound;
}

}  // namespace

StateParts split_state(std::span<const std::byte> state) {
  if (state.size() < kHeaderBytes || load<std::uint32_t>(state.data()) != kGroupSnapshotMagic) {
    return {.groups = {}, .locks = state};
  }
  const std::size_t bytes =
      std::min<std::size_t>(load<std::uint32_t>(state.data() + kLengthOffset), state.size());
  return {.groups = state.first(bytes), .locks = state.subspan(bytes)};
}

GroupSnapshot snapshot_of(const GroupTables& tables, ShardId shard_id) {
  const GroupShardRow& shard = tables.shard(shard_id);
  GroupSnapshot snapshot{.epoch_last = shard.epoch_last,
                         .generation_last = shard.generation_last,
                         .state_hash = shard.state_hash,
                         .groups = {}};
  for (GroupRow row = shard.group_first; row.value != 0; row = tables.groups[row].shard_next) {
    const GroupRecord& record = tables.groups[row];
    const GroupName& name = tables.names[row.value];
    GroupSnapshot::Group& group = snapshot.groups.emplace_back();
    group.name = {name.text, name.bytes};
    group.epoch = record.epoch;
    group.generation = record.generation;
    group.barrier_size = record.barrier_size;
    for (ParticipantRow at = record.first; at.value != 0; at = tables.participants[at].next) {
      const ParticipantRecord& each = tables.participants[at];
      const MemberText& text = tables.texts[at.value];
      group.participants.push_back(
          {.session = each.session,
           .member = each.member,
           .arrived = each.arrived,
           .id = {text.id, each.member ? text.id_bytes : 0u},
           .payload = {text.payload, each.member ? text.payload_bytes : 0u}});
    }
  }
  return snapshot;
}

void write_snapshot(const GroupSnapshot& snapshot, std::vector<std::byte>& bytes) {
  const std::size_t start = bytes.size();
  ByteWriter writer{bytes};
  writer.integer(kGroupSnapshotMagic);
  writer.integer(kGroupSnapshotVersion);
  writer.integer(std::uint32_t{0});  // The length, below.
  writer.integer(snapshot.epoch_last);
  writer.integer(snapshot.generation_last);
  writer.integer(snapshot.state_hash);
  writer.integer(static_cast<std::uint32_t>(snapshot.groups.size()));
  for (const GroupSnapshot::Group& group : snapshot.groups) {
    writer.text(group.name);
    writer.integer(group.epoch);
    writer.integer(group.generation);
    writer.integer(group.barrier_size);
    writer.integer(static_cast<std::uint32_t>(group.participants.size()));
    for (const GroupSnapshot::Participant& each : group.participants) {
      writer.integer(each.session.value);
      writer.integer(
          static_cast<std::uint8_t>((each.member ? kMember : 0) | (each.arrived ? kArrived : 0)));
      writer.integer(static_cast<std::uint8_t>(each.id.size()));
      writer.bytes(each.id);
      writer.text(each.payload);
    }
  }
  store(bytes.data() + start + kLengthOffset, static_cast<std::uint32_t>(bytes.size() - start));
}

Result<GroupSnapshot> parse_snapshot(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  const auto magic = reader.integer<std::uint32_t>();
  const auto version = reader.integer<std::uint16_t>();
  const auto length = reader.integer<std::uint32_t>();
  if (!reader.ok() || magic != kGroupSnapshotMagic || length != bytes.size()) {
    return bad("no header");
  }
  if (version != kGroupSnapshotVersion) {
    return bad("of another version");
  }
  GroupSnapshot snapshot;
  snapshot.epoch_last = reader.integer<std::uint64_t>();
  snapshot.generation_last = reader.integer<std::uint64_t>();
  snapshot.state_hash = reader.integer<std::uint64_t>();
  snapshot.groups.resize(reader.count(kGroupBytesMin, kGroupsPerShardMax));
  bool sound = true;
  for (GroupSnapshot::Group& group : snapshot.groups) {
    group = read_group(reader, sound);
    if (!sound) {
      return bad("an impossible group");
    }
  }
  if (!reader.complete()) {
    return bad("cut off, or bytes follow");
  }
  return numbers_sound(snapshot) ? Result<GroupSnapshot>{std::move(snapshot)}
                                 : bad("impossible numbers");
}

Result<std::vector<std::byte>> raise_snapshot(std::span<const std::byte> bytes,
                                              std::uint64_t lift,
                                              bool drop_sessions) {
  GCOORD_TRY(GroupSnapshot snapshot, parse_snapshot(bytes));
  std::uint64_t newest = std::max(snapshot.epoch_last, snapshot.generation_last);
  for (const GroupSnapshot::Group& group : snapshot.groups) {
    newest = std::max(newest, group.epoch);
  }
  if (lift > kNumberMax - newest) {
    return Status{StatusCode::OutOfRange, "group snapshot: too few epochs are left"};
  }
  if (drop_sessions) {
    for (const GroupSnapshot::Group& group : snapshot.groups) {
      snapshot.epoch_last = std::max(snapshot.epoch_last, group.epoch);
    }
    snapshot.groups.clear();
  }
  snapshot.epoch_last += lift;
  snapshot.generation_last += lift;
  for (GroupSnapshot::Group& group : snapshot.groups) {
    group.epoch += lift;
    group.generation += group.barrier_size == 0 ? 0 : lift;
  }
  std::vector<std::byte> raised;
  write_snapshot(snapshot, raised);
  return raised;
}

}  // namespace gcoord::membership
