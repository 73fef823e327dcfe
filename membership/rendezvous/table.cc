#include "membership/rendezvous/table.h"

#include "common/assert.h"
#include "common/random.h"
#include "membership/rendezvous/limits.h"
#include "membership/rendezvous/snapshot.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gcoord::membership {
namespace {

// Odd, so that one wrong word always shows; see locks/state/chain.h.
constexpr std::uint64_t kChainStep = 0x9e3779b97f4a7c17u;

std::pair<std::uint64_t, std::uint64_t> key_of(NameHash name) {
  return {name.low, name.high};
}

// FNV-1a, for the chain alone.
std::uint64_t text_word(std::string_view text) {
  std::uint64_t word = 0xcbf29ce484222325u;
  for (const char each : text) {
    word = (word ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  }
  return word;
}

std::uint64_t reply_word(const RendezvousReply& reply) {
  return mix64(reply.number << 8 | static_cast<std::uint64_t>(reply.code));
}

auto member_of(Rendezvous& each, SessionId session) {
  return std::ranges::find(each.members, session, &RendezvousMember::session);
}

auto waiter_of(Rendezvous& each, SessionId session) {
  return std::ranges::find(each.waiting, session, &RendezvousWaiter::session);
}

// Members of the round before in the order of their ranks, then the others as they came.
void order_waiting(Rendezvous& each) {
  const auto rank = [&](const RendezvousWaiter& waiter) {
    return member_of(each, waiter.session) - each.members.begin();
  };
  std::ranges::stable_sort(each.waiting, {}, rank);
}

}  // namespace

std::uint32_t Rendezvous::present() const {
  return static_cast<std::uint32_t>(std::ranges::count(members, true, &RendezvousMember::present));
}

AliveWord Rendezvous::alive() const {
  AliveWord word{round, 0};
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    word.mask |= members[rank].present ? alive_bit(rank) : 0;
  }
  return word;
}

RendezvousShard RendezvousTable::shard_of(ShardId shard) const {
  const auto found = shards_.find(shard.value);
  return found == shards_.end() ? RendezvousShard{} : found->second;
}

const RendezvousTable::ByName* RendezvousTable::of_shard(ShardId shard) const {
  const auto found = names_.find(shard.value);
  return found == names_.end() ? nullptr : &found->second;
}

const Rendezvous* RendezvousTable::find(ShardId shard, NameHash name) const {
  const ByName* const names = of_shard(shard);
  if (names == nullptr) {
    return nullptr;
  }
  const auto found = names->find(key_of(name));
  return found == names->end() ? nullptr : &found->second;
}

bool RendezvousTable::has_session(ShardId shard, SessionId session) const {
  return sessions_.contains({shard.value, session.value});
}

void RendezvousTable::extend_chain(ShardId shard, std::uint64_t word) {
  std::uint64_t& hash = shards_[shard.value].state_hash;
  hash = hash * kChainStep + mix64(word);
  hash += hash == 0 ? 1 : 0;  // 0 says that there were no commands.
}

// Counts everybody of a rendezvous in (1) or out (-1).
void RendezvousTable::note(const Spot& spot, const Rendezvous& each, int sign) {
  const auto one = [&](SessionId session) {
    auto& names = sessions_[{spot.shard.value, session.value}];
    std::uint32_t& count = names[key_of(spot.name)];
    count += static_cast<std::uint32_t>(sign);
    if (count == 0) {
      names.erase(key_of(spot.name));
    }
    if (names.empty()) {
      sessions_.erase({spot.shard.value, session.value});
    }
  };
  for (const RendezvousWaiter& waiter : each.waiting) {
    one(waiter.session);
  }
  for (const RendezvousMember& member : each.members) {
    if (member.present) {
      one(member.session);
    }
  }
  const auto add = [&](std::uint64_t& total, std::size_t count) {
    total = sign > 0 ? total + count : total - count;
  };
  add(usage_.rendezvous, 1);
  add(usage_.waiting, each.waiting.size());
  add(usage_.members, each.members.size());
}

// A round of those who come first.
void RendezvousTable::complete(ShardId shard, Rendezvous& each) {
  order_waiting(each);
  const std::size_t count = std::min<std::size_t>(each.waiting.size(), each.bounds.members_max);
  each.members.clear();
  for (std::size_t rank = 0; rank < count; ++rank) {
    RendezvousWaiter& waiter = each.waiting[rank];
    each.members.push_back(
        {waiter.session, waiter.sequence, /*present=*/true, std::move(waiter.payload)});
  }
  each.waiting.erase(each.waiting.begin(),
                     each.waiting.begin() + static_cast<std::ptrdiff_t>(count));
  each.round = ++shards_[shard.value].number_last;
  each.call = 0;
}

// After a change: begins or ends a last call, completes the round, or drops what nobody needs.
void RendezvousTable::settle(ShardId shard, NameHash name) {
  changed_.push_back(name);
  ByName& names = names_[shard.value];
  const auto at = names.find(key_of(name));
  GCOORD_ASSERT(at != names.end());
  Rendezvous& each = at->second;
  const bool free = each.present() == 0;
  const bool enough = free && each.waiting.size() >= each.bounds.members_min;
  if (!enough || each.waiting.empty()) {
    each.call = 0;
  } else if (each.waiting.size() >= each.bounds.members_max || each.bounds.last_call_ms == 0) {
    complete(shard, each);
  } else if (each.call == 0) {
    each.call = ++shards_[shard.value].number_last;
  }
  if (each.waiting.empty() && each.present() == 0) {
    names.erase(at);
    if (names.empty()) {
      names_.erase(shard.value);
    }
    return;
  }
  each.version = ++shards_[shard.value].number_last;
  note({shard, name}, each, 1);
}

// Takes a session out of where it waits and out of the round. False: it was in neither.
bool RendezvousTable::remove(Rendezvous& each, SessionId session) {
  const std::size_t waited = std::erase_if(
      each.waiting, [&](const RendezvousWaiter& waiter) { return waiter.session == session; });
  const auto member = member_of(each, session);
  const bool present = member != each.members.end() && member->present;
  if (present) {
    member->present = false;
  }
  return waited != 0 || present;
}

RendezvousReply RendezvousTable::arrive(ShardId shard, const RendezvousCommand& command) {
  const NameHash name = hash_name(command.name);
  const Rendezvous* const known = find(shard, name);
  const ByName* const names = of_shard(shard);
  if (known == nullptr && names != nullptr && names->size() >= kRendezvousPerShardMax) {
    return {.code = RendezvousCode::ShardFull};
  }
  if (known != nullptr) {
    const bool waits = std::ranges::any_of(known->waiting, [&](const RendezvousWaiter& waiter) {
      return waiter.session == command.session;
    });
    if (known->waiting.size() > (waits ? 1u : 0u) && known->bounds != command.bounds) {
      return {.code = RendezvousCode::BoundsDiffer};
    }
    if (!waits && known->waiting.size() == kRendezvousWaitersMax) {
      return {.code = RendezvousCode::Full};
    }
    note({shard, name}, *known, -1);
  }
  Rendezvous& each = names_[shard.value][key_of(name)];
  each.name = command.name;
  if (each.bounds != command.bounds) {
    each.bounds = command.bounds;
    each.call = 0;  // A call is of the bounds with which it began.
  }
  if (const auto member = member_of(each, command.session); member != each.members.end()) {
    member->present = false;
  }
  if (const auto waiter = waiter_of(each, command.session); waiter != each.waiting.end()) {
    waiter->sequence = command.sequence;
    waiter->payload = command.payload;
  } else {
    each.waiting.push_back({command.session, command.sequence, std::string{command.payload}});
  }
  const std::uint64_t round = each.round;
  settle(shard, name);
  return each.round == round
             ? RendezvousReply{.code = RendezvousCode::Waits}
             : RendezvousReply{.code = RendezvousCode::Completed, .number = each.round};
}

RendezvousReply RendezvousTable::leave(ShardId shard, const RendezvousCommand& command) {
  const NameHash name = hash_name(command.name);
  if (!has_session(shard, command.session) || find(shard, name) == nullptr) {
    return {.code = RendezvousCode::NotThere};
  }
  Rendezvous& each = names_[shard.value][key_of(name)];
  note({shard, name}, each, -1);
  if (!remove(each, command.session)) {
    note({shard, name}, each, 1);
    return {.code = RendezvousCode::NotThere};
  }
  settle(shard, name);
  return {.code = RendezvousCode::Left};
}

RendezvousReply RendezvousTable::apply(ShardId shard, const RendezvousCommand& command) {
  GCOORD_ASSERT(command.name.size() <= kRendezvousNameBytesMax);
  used_ = true;
  changed_.clear();
  RendezvousReply reply{.code = RendezvousCode::Malformed};
  if (command.op == RendezvousOp::Arrive) {
    reply = arrive(shard, command);
  } else if (command.op == RendezvousOp::Leave) {
    reply = leave(shard, command);
  }
  extend_chain(shard,
               reply_word(reply) ^ mix64(command.session.value + command.sequence) ^
                   mix64(hash_name(command.name).low) ^ text_word(command.payload) * 3);
  return reply;
}

RendezvousReply RendezvousTable::withdraw(ShardId shard,
                                          NameHash name,
                                          const RendezvousWaiter& waiter) {
  changed_.clear();
  RendezvousReply reply{.code = RendezvousCode::NotWaiting};
  const Rendezvous* const known = find(shard, name);
  const bool waits =
      known != nullptr && std::ranges::any_of(known->waiting, [&](const RendezvousWaiter& each) {
        return each.session == waiter.session && each.sequence == waiter.sequence;
      });
  if (waits) {
    Rendezvous& each = names_[shard.value][key_of(name)];
    note({shard, name}, each, -1);
    each.waiting.erase(waiter_of(each, waiter.session));
    settle(shard, name);
    reply.code = RendezvousCode::TimedOut;
  }
  extend_chain(shard, reply_word(reply) ^ mix64(waiter.session.value + waiter.sequence));
  return reply;
}

RendezvousReply RendezvousTable::end_call(ShardId shard, NameHash name, std::uint64_t call) {
  changed_.clear();
  RendezvousReply reply{.code = RendezvousCode::CallStale};
  const Rendezvous* const known = find(shard, name);
  if (known != nullptr && known->call == call && call != 0) {
    Rendezvous& each = names_[shard.value][key_of(name)];
    note({shard, name}, each, -1);
    complete(shard, each);
    reply = {.code = RendezvousCode::LastCallEnded, .number = each.round};
    settle(shard, name);
  }
  extend_chain(shard, reply_word(reply) ^ mix64(call));
  return reply;
}

void RendezvousTable::end_sessions(ShardId shard, std::span<const SessionId> sessions) {
  changed_.clear();
  std::set<std::pair<std::uint64_t, std::uint64_t>> touched;
  for (const SessionId session : sessions) {
    const auto found = sessions_.find({shard.value, session.value});
    if (found != sessions_.end()) {
      for (const auto& [name, count] : found->second) {
        touched.insert(name);
      }
    }
  }
  for (const auto& key : touched) {
    const NameHash name{key.first, key.second};
    Rendezvous& each = names_[shard.value][key];
    note({shard, name}, each, -1);
    for (const SessionId session : sessions) {
      remove(each, session);
    }
    settle(shard, name);
  }
  for (const SessionId session : sessions) {
    extend_chain(shard, mix64(session.value) ^ 0x656e64u);  // "end"
  }
}

void RendezvousTable::serialize(ShardId shard, std::vector<std::byte>& bytes) const {
  const RendezvousShard numbers = shard_of(shard);
  if (numbers.state_hash == 0) {
    return;
  }
  RendezvousSnapshot snapshot{.shard = numbers, .rendezvous = {}};
  if (const ByName* const names = of_shard(shard)) {
    for (const auto& [key, each] : *names) {
      snapshot.rendezvous.push_back(each);
    }
  }
  write_rendezvous(snapshot, bytes);
}

void RendezvousTable::drop(ShardId shard) {
  if (const ByName* const names = of_shard(shard)) {
    for (const auto& [key, each] : *names) {
      note({shard, {key.first, key.second}}, each, -1);
    }
  }
  names_.erase(shard.value);
  shards_.erase(shard.value);
}

Status RendezvousTable::deserialize(ShardId shard, std::span<const std::byte> bytes) {
  drop(shard);
  if (bytes.empty()) {
    return {};
  }
  GCOORD_TRY(RendezvousSnapshot snapshot, parse_rendezvous(bytes));
  used_ = true;
  for (Rendezvous& each : snapshot.rendezvous) {
    const NameHash name = hash_name(each.name);
    note({shard, name}, each, 1);
    names_[shard.value].emplace(key_of(name), std::move(each));
  }
  shards_[shard.value] = snapshot.shard;
  return {};
}

}  // namespace gcoord::membership
