#include "membership/rendezvous/snapshot.h"

#include "common/bytes.h"
#include "common/utf8.h"
#include "membership/rendezvous/limits.h"
#include "sessions/record.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>

namespace gcoord::membership {
namespace {

constexpr std::size_t kLengthOffset = 4 + 2;
constexpr std::size_t kHeaderBytes = kLengthOffset + 4 + 8 + 8 + 4;
constexpr std::size_t kRendezvousBytesMin = 2 + 1 + 8 + 8 + 8 + 4 + 4 + 4 + 4 + 4;
constexpr std::size_t kWaiterBytesMin = 8 + 8 + 2;
constexpr std::size_t kMemberBytesMin = 8 + 8 + 1 + 2;
// No number of a cluster gets near it.
constexpr std::uint64_t kNumberMax = ~std::uint64_t{0} / 2;

Status bad(const char* what) {
  return Status{StatusCode::DataLoss, std::string{"rendezvous snapshot: "} + what};
}

bool session_sound(SessionId session) {
  return session.value != 0 && session != sessions::kKeeperSession;
}

// Whether each session is there once, where it waits and where it is in.
bool sessions_sound(const Rendezvous& each) {
  std::unordered_set<std::uint64_t> waiting;
  std::unordered_set<std::uint64_t> members;
  const bool waiting_sound = std::ranges::all_of(each.waiting, [&](const RendezvousWaiter& waiter) {
    return session_sound(waiter.session) && waiting.insert(waiter.session.value).second;
  });
  return waiting_sound && std::ranges::all_of(each.members, [&](const RendezvousMember& member) {
           const bool both = member.present && waiting.contains(member.session.value);
           return session_sound(member.session) && !both &&
                  members.insert(member.session.value).second;
         });
}

// Whether the step could have left it so.
bool rendezvous_sound(const Rendezvous& each, std::uint64_t number_last) {
  const bool free = each.present() == 0;
  const bool enough =
      free && !each.waiting.empty() && each.waiting.size() >= each.bounds.members_min;
  const bool numbers = each.version <= number_last && each.call <= number_last &&
                       each.round <= number_last && (each.round != 0) == !each.members.empty();
  return numbers && !each.name.empty() && utf8_well_formed(each.name) &&
         (each.waiting.empty() || bounds_sound(each.bounds)) && !(free && each.waiting.empty()) &&
         enough == (each.call != 0) &&
         !(enough && each.waiting.size() >= each.bounds.members_max) && sessions_sound(each);
}

Rendezvous read_rendezvous(ByteReader& reader, bool& known) {
  Rendezvous each;
  each.name = reader.text(kRendezvousNameBytesMax);
  each.version = reader.integer<std::uint64_t>();
  each.call = reader.integer<std::uint64_t>();
  each.round = reader.integer<std::uint64_t>();
  each.bounds.members_min = reader.integer<std::uint32_t>();
  each.bounds.members_max = reader.integer<std::uint32_t>();
  each.bounds.last_call_ms = reader.integer<std::uint32_t>();
  each.waiting.resize(reader.count(kWaiterBytesMin, kRendezvousWaitersMax));
  const std::uint32_t members = reader.count(kMemberBytesMin, kRendezvousMembersMax);
  for (RendezvousWaiter& waiter : each.waiting) {
    waiter.session = SessionId{reader.integer<std::uint64_t>()};
    waiter.sequence = reader.integer<std::uint64_t>();
    waiter.payload = reader.text(kRendezvousPayloadBytesMax);
  }
  each.members.resize(members);
  for (RendezvousMember& member : each.members) {
    member.session = SessionId{reader.integer<std::uint64_t>()};
    member.sequence = reader.integer<std::uint64_t>();
    const auto present = reader.integer<std::uint8_t>();
    member.present = present == 1;
    known = known && present <= 1;
    member.payload = reader.text(kRendezvousPayloadBytesMax);
  }
  return each;
}

}  // namespace

RendezvousParts split_rendezvous(std::span<const std::byte> state) {
  if (state.size() < kHeaderBytes ||
      load<std::uint32_t>(state.data()) != kRendezvousSnapshotMagic) {
    return {.rendezvous = {}, .rest = state};
  }
  const std::size_t bytes =
      std::min<std::size_t>(load<std::uint32_t>(state.data() + kLengthOffset), state.size());
  return {.rendezvous = state.first(bytes), .rest = state.subspan(bytes)};
}

void write_rendezvous(const RendezvousSnapshot& snapshot, std::vector<std::byte>& bytes) {
  const std::size_t start = bytes.size();
  ByteWriter writer{bytes};
  writer.integer(kRendezvousSnapshotMagic);
  writer.integer(kRendezvousSnapshotVersion);
  writer.integer(std::uint32_t{0});  // The length, below.
  writer.integer(snapshot.shard.number_last);
  writer.integer(snapshot.shard.state_hash);
  writer.integer(static_cast<std::uint32_t>(snapshot.rendezvous.size()));
  for (const Rendezvous& each : snapshot.rendezvous) {
    writer.text(each.name);
    writer.integer(each.version);
    writer.integer(each.call);
    writer.integer(each.round);
    writer.integer(each.bounds.members_min);
    writer.integer(each.bounds.members_max);
    writer.integer(each.bounds.last_call_ms);
    writer.integer(static_cast<std::uint32_t>(each.waiting.size()));
    writer.integer(static_cast<std::uint32_t>(each.members.size()));
    for (const RendezvousWaiter& waiter : each.waiting) {
      writer.integer(waiter.session.value);
      writer.integer(waiter.sequence);
      writer.text(waiter.payload);
    }
    for (const RendezvousMember& member : each.members) {
      writer.integer(member.session.value);
      writer.integer(member.sequence);
      writer.integer(static_cast<std::uint8_t>(member.present ? 1 : 0));
      writer.text(member.payload);
    }
  }
  store(bytes.data() + start + kLengthOffset, static_cast<std::uint32_t>(bytes.size() - start));
}

Result<RendezvousSnapshot> parse_rendezvous(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  const auto magic = reader.integer<std::uint32_t>();
  const auto version = reader.integer<std::uint16_t>();
  const auto length = reader.integer<std::uint32_t>();
  if (!reader.ok() || magic != kRendezvousSnapshotMagic || length != bytes.size()) {
    return bad("no header");
  }
  if (version != kRendezvousSnapshotVersion) {
    return bad("of another version");
  }
  RendezvousSnapshot snapshot;
  snapshot.shard.number_last = reader.integer<std::uint64_t>();
  snapshot.shard.state_hash = reader.integer<std::uint64_t>();
  snapshot.rendezvous.resize(reader.count(kRendezvousBytesMin, kRendezvousPerShardMax));
  std::unordered_set<std::string_view> names;
  bool sound = snapshot.shard.number_last <= kNumberMax && snapshot.shard.state_hash != 0;
  for (Rendezvous& each : snapshot.rendezvous) {
    each = read_rendezvous(reader, sound);
    sound = sound && reader.ok() && rendezvous_sound(each, snapshot.shard.number_last) &&
            names.insert(each.name).second;
    if (!sound) {
      return bad("an impossible rendezvous");
    }
  }
  if (!reader.complete() || !sound) {
    return bad("cut off, impossible numbers, or bytes follow");
  }
  return snapshot;
}

Result<std::vector<std::byte>> raise_rendezvous(std::span<const std::byte> bytes,
                                                std::uint64_t lift,
                                                bool drop_sessions) {
  GCOORD_TRY(RendezvousSnapshot snapshot, parse_rendezvous(bytes));
  if (lift > kNumberMax - snapshot.shard.number_last) {
    return Status{StatusCode::OutOfRange, "rendezvous snapshot: too few numbers are left"};
  }
  if (drop_sessions) {
    snapshot.rendezvous.clear();
  }
  snapshot.shard.number_last += lift;
  std::vector<std::byte> raised;
  write_rendezvous(snapshot, raised);
  return raised;
}

}  // namespace gcoord::membership
