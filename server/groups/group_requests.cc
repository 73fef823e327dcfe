#include "server/groups/group_requests.h"

#include "common/assert.h"
#include "common/name_hash.h"
#include "locks/commands/group_command.h"
#include "protocol/lock_messages.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gcoord::server {

using locks::LockCode;
using membership::GroupCode;
using protocol::ErrorCode;

namespace {

// What protocol/validate.h admits, the machine must be able to take.
static_assert(protocol::kGroupNameBytesMax == membership::kGroupNameBytesMax);
static_assert(protocol::kMemberIdBytesMax == membership::kMemberIdBytesMax);
static_assert(protocol::kMemberPayloadBytesMax == membership::kMemberPayloadBytesMax);
static_assert(protocol::kGroupMembersMax == membership::kGroupMembersMax);
static_assert(protocol::kGroupChangesMax >= membership::kGroupMembersMax);
static_assert(static_cast<int>(protocol::GroupChangeKind::Joined) ==
              static_cast<int>(membership::GroupChangeKind::Joined));
static_assert(static_cast<int>(protocol::GroupChangeKind::Left) ==
              static_cast<int>(membership::GroupChangeKind::Left));
static_assert(static_cast<int>(protocol::GroupChangeKind::Updated) ==
              static_cast<int>(membership::GroupChangeKind::Updated));

ErrorCode error_of(GroupCode code) {
  switch (code) {
    case GroupCode::Joined:
    case GroupCode::AlreadyMember:
    case GroupCode::Left:
    case GroupCode::Updated:
    case GroupCode::Arrived:
    case GroupCode::Released:
      return ErrorCode::None;
    case GroupCode::MemberIdDiffers:
      return ErrorCode::MemberIdDiffers;
    case GroupCode::MemberIdTaken:
      return ErrorCode::MemberIdTaken;
    case GroupCode::GroupFull:
      return ErrorCode::GroupFull;
    case GroupCode::ShardFull:
      return ErrorCode::GroupsExhausted;
    case GroupCode::NotMember:
      return ErrorCode::GroupNotMember;
    case GroupCode::SizeDiffers:
      return ErrorCode::BarrierSizeDiffers;
    case GroupCode::TimedOut:
      return ErrorCode::BarrierTimedOut;
    case GroupCode::NotArrived:
    case GroupCode::Malformed:
    case GroupCode::None:
      break;
  }
  return ErrorCode::SlotInvalid;
}

protocol::GroupChangeRow row_of(const membership::GroupChange& change) {
  return {change.epoch,
          static_cast<protocol::GroupChangeKind>(change.kind),
          change.member.session,
          change.member.id,
          change.member.payload};
}

// "a, b and 3 more".
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 16;
  std::string text;
  for (std::size_t k = 0; k < names.size() && k < kNamed; ++k) {
    text += (k == 0 ? "" : ", ") + names[k];
  }
  return names.size() <= kNamed ? text
                                : text + " and " + std::to_string(names.size() - kNamed) + " more";
}

// Who was missing when a wait's deadline passed.
std::string report_of(const membership::GroupView& view) {
  std::string text = std::to_string(view.arrived.size()) + " of " +
                     std::to_string(view.barrier_size) + " had arrived: " + list_of(view.arrived);
  if (!view.missing.empty()) {
    text += "; members that had not: " + list_of(view.missing);
  }
  return text;
}

}  // namespace

// Whether the fields are sound. False: it was refused.
bool GroupRequests::admit(const ClientRequest& request) {
  const ErrorCode code = protocol::check_group_request(request.slot, request.payload, env_.limits);
  if (code != ErrorCode::None) {
    env_.replies.refuse(request, code);
  }
  return code == ErrorCode::None;
}

void GroupRequests::join(const ClientRequest& request) {
  if (!admit(request)) {
    return;
  }
  const auto join = protocol::decode_group_join(request.payload);
  GCOORD_ASSERT(join.ok());
  submit_group_request(env_,
                       request,
                       {.name = join.value().name,
                        .body = membership::encode_join(join.value().id, join.value().payload),
                        .ttl_ms = request.slot.ttl_ms,
                        .full = full()});
}

void GroupRequests::leave(const ClientRequest& request) {
  if (admit(request)) {
    submit_group_request(
        env_, request, {.name = request.text(), .body = membership::encode_leave(), .full = false});
  }
}

void GroupRequests::update(const ClientRequest& request) {
  if (!admit(request)) {
    return;
  }
  const auto update = protocol::decode_group_update(request.payload);
  GCOORD_ASSERT(update.ok());
  submit_group_request(env_,
                       request,
                       {.name = update.value().name,
                        .body = membership::encode_update(update.value().payload),
                        .full = false});
}

void GroupRequests::barrier(const ClientRequest& request) {
  if (!admit(request)) {
    return;
  }
  const auto arrival = protocol::decode_group_arrival(request.payload);
  GCOORD_ASSERT(arrival.ok());
  submit_group_request(env_,
                       request,
                       {.name = arrival.value().name,
                        .body = membership::encode_arrive(arrival.value().size),
                        .ttl_ms = request.slot.ttl_ms,
                        .full = full()});
}

bool GroupRequests::full() const {
  const membership::GroupUsage usage = env_.machine.groups().usage();
  return usage.groups >= membership::kGroupsPerNodeMax ||
         usage.participants >= membership::kParticipantsPerNodeMax ||
         waits_.size() >= kGroupWaitsMax;
}

std::uint64_t GroupRequests::keep_name(std::string_view name) {
  names_.emplace(++name_last_, name);
  return name_last_;
}

std::string GroupRequests::take_name(const Pending& pending) {
  auto kept = names_.extract(pending.group);
  GCOORD_ASSERT(!kept.empty());
  return std::move(kept.mapped());
}

void GroupRequests::get(const ClientRequest& request) {
  if (!admit(request)) {
    return;
  }
  const auto query = protocol::decode_group_query(request.payload);
  GCOORD_ASSERT(query.ok());
  const ShardId shard = shard_of(hash_name(query.value().name), env_.limits.shard_count);
  if (!env_.leaders.leads(shard)) {
    return env_.replies.redirect(request, env_.leaders.leader(shard), env_.leaders.term(shard));
  }
  Pending pending;
  pending.kind = PendingKind::GroupLook;
  pending.connection = request.connection;
  pending.started_us = env_.clock.now_us;
  pending.request = request.slot;
  pending.request.shard = shard.value;
  pending.request.token = query.value().epoch;
  pending.request.ttl_ms = query.value().member_count;
  pending.group = keep_name(query.value().name);
  env_.log.confirm(shard, pending, ReadMode::Lease);
}

void GroupRequests::on_confirmed(const Pending& pending, const Status& status, NodeId leader_hint) {
  std::string name = take_name(pending);
  if (!status.ok()) {
    return env_.replies.send(pending.connection,
                             engine_refusal(pending.request, status, leader_hint));
  }
  const ShardId shard{pending.request.shard};
  GroupWait wait{.connection = pending.connection,
                 .request = pending.request,
                 .name = std::move(name),
                 .owner = judging_.owner(pending.connection),
                 .deadline = deadline_of(std::min(pending.request.deadline_ms, kViewWaitMsMax)),
                 .report = {},
                 .epoch = pending.request.token,
                 .member_count = pending.request.ttl_ms};
  const bool leads = env_.leaders.leads(shard);
  const bool last = !pending.request.has(protocol::RequestFlag::Wait) || !leads;
  if (const auto view = view_after(shard, wait, last)) {
    return send_view(wait, *view);
  }
  if (waits_.size() >= kGroupWaitsMax) {
    return env_.replies.send(pending.connection,
                             error_reply(pending.request, ErrorCode::Overloaded));
  }
  env_.replies.park(wait.connection);
  const NameHash group = hash_name(wait.name);
  waits_.add(shard, group, std::move(wait));
}

// What one who has this view is answered; nothing while there is nothing new, unless `last`.
std::optional<std::vector<std::byte>> GroupRequests::view_after(ShardId shard,
                                                                const GroupWait& wait,
                                                                bool last) const {
  const NameHash group = hash_name(wait.name);
  const std::uint64_t epoch = env_.machine.groups().epoch(shard, group);
  protocol::GroupAnswer answer{.epoch = wait.epoch, .rows = {}};
  const auto changes =
      env_.machine.log().after({shard, group, wait.epoch}, protocol::kGroupChangesMax);
  const bool same = changes.rows.empty() && wait.epoch != 0 &&
                    (epoch == 0 ? wait.member_count == 0 : epoch == wait.epoch);
  if (same && !last) {
    return std::nullopt;
  }
  const membership::GroupView view = env_.machine.groups().view(shard, group);
  answer.barrier_size = view.barrier_size;
  answer.arrived = static_cast<std::uint32_t>(view.arrived.size());
  if (!same && wait.epoch != 0 && changes.complete && !changes.rows.empty()) {
    for (const membership::GroupChange* change : changes.rows) {
      answer.rows.push_back(row_of(*change));
    }
    answer.epoch = answer.rows.back().epoch;
  } else if (!same) {
    answer.whole = true;
    answer.epoch = view.epoch;
    for (const membership::GroupMember& member : view.members) {
      answer.rows.push_back({view.epoch,
                             protocol::GroupChangeKind::Joined,
                             member.session,
                             member.id,
                             member.payload});
    }
  }
  return protocol::encode_group_answer(answer);
}

void GroupRequests::send_view(const GroupWait& wait, std::span<const std::byte> view) {
  protocol::ReplySlot reply = protocol::reply_to(wait.request);
  reply.epoch = env_.leaders.term(shard_of(hash_name(wait.name), env_.limits.shard_count)).value;
  env_.replies.send(wait.connection, reply, view);
}

Tick GroupRequests::deadline_of(std::uint32_t wait_ms) const {
  return wait_ms == protocol::kForeverMs ? kTickNever
                                         : env_.clock.now + (wait_ms / env_.clock.tick_ms + 1);
}

void GroupRequests::on_decided(const Pending& pending,
                               const NamedGroup& group,
                               const locks::LockReply& decision) {
  const bool taken = decision.code == LockCode::GroupTaken;
  const membership::GroupReply answer = answer_of(decision);
  const ErrorCode error = taken ? error_of(answer.code) : server::error_of(decision.code);
  if (error != ErrorCode::None) {
    return env_.replies.send(pending.connection, error_reply(pending.request, error));
  }
  const NameHash hash = hash_name(group.name);
  if (answer.code == GroupCode::Arrived &&
      env_.machine.groups().waits(group.shard,
                                  {hash, SessionId{pending.request.session}, answer.epoch})) {
    return wait_at_barrier(group.shard,
                           {.connection = pending.connection,
                            .request = pending.request,
                            .name = std::string{group.name},
                            .owner = judging_.owner(pending.connection),
                            .deadline = deadline_of(pending.request.deadline_ms),
                            .generation = answer.epoch,
                            .size = env_.machine.groups().view(group.shard, hash).barrier_size,
                            .report = {}});
  }
  protocol::ReplySlot reply = protocol::reply_to(pending.request);
  reply.epoch = env_.leaders.term(group.shard).value;
  reply.token = answer.epoch;
  reply.extra = answer.number;
  env_.replies.send(pending.connection, reply);
}

// A request that was sent again takes the place of the one that waits.
void GroupRequests::wait_at_barrier(ShardId shard, const GroupWait& wait) {
  if (!env_.leaders.leads(shard)) {
    return env_.replies.send(wait.connection,
                             not_leader_reply(wait.request, env_.leaders.leader(shard)));
  }
  const NameHash group = hash_name(wait.name);
  const auto replaced = waits_.take(shard, group, [&](const GroupWait& other) {
    return other.at_barrier() && other.request.session == wait.request.session &&
           other.request.sequence == wait.request.sequence;
  });
  for (const GroupWait& other : replaced) {
    end(other, error_reply(other.request, ErrorCode::SequenceReused));
  }
  if (!waits_.add(shard, group, wait)) {
    return env_.replies.send(wait.connection, error_reply(wait.request, ErrorCode::Overloaded));
  }
  env_.replies.park(wait.connection);
}

void GroupRequests::end(const GroupWait& wait,
                        const protocol::ReplySlot& reply,
                        std::string_view why) {
  env_.replies.unpark(wait.connection);
  env_.replies.send(wait.connection, reply, protocol::bytes_of(why));
}

void GroupRequests::end_released(ShardId shard, NameHash group, std::uint64_t generation) {
  const auto released = waits_.take(
      shard, group, [&](const GroupWait& wait) { return wait.generation == generation; });
  for (const GroupWait& wait : released) {
    protocol::ReplySlot reply = protocol::reply_to(wait.request);
    reply.epoch = env_.leaders.term(shard).value;
    reply.token = generation;
    reply.extra = wait.size;
    end(wait, reply);
  }
}

void GroupRequests::on_effects(const GroupEffects& effects) {
  if (waits_.size() == 0) {
    return;
  }
  if (effects.released_generation != 0) {
    end_released(effects.shard, effects.released, effects.released_generation);
  }
  for (const NameHash group : effects.changed) {
    tell_view(effects.shard, group);
  }
  if (!effects.sessions_ended) {
    return;
  }
  const auto over = waits_.take_of_shard(effects.shard, [&](NameHash group, const GroupWait& wait) {
    return wait.at_barrier() &&
           !env_.machine.groups().waits(effects.shard,
                                        {group, SessionId{wait.request.session}, wait.generation});
  });
  for (const GroupWait& wait : over) {
    end(wait, error_reply(wait.request, ErrorCode::SessionExpired));
  }
}

// Those who wait have the same view, as a rule: what they are told is made once.
void GroupRequests::tell_view(ShardId shard, NameHash group) {
  const auto told =
      waits_.take(shard, group, [](const GroupWait& wait) { return !wait.at_barrier(); });
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::byte>> views;
  for (const GroupWait& wait : told) {
    auto [view, made] = views.try_emplace({wait.epoch, wait.member_count});
    if (made) {
      view->second = *view_after(shard, wait, true);
    }
    env_.replies.unpark(wait.connection);
    send_view(wait, view->second);
  }
}

void GroupRequests::end_waits(ShardId shard, NodeId leader) {
  const auto left = waits_.take_of_shard(shard, [](NameHash, const GroupWait&) { return true; });
  for (const GroupWait& wait : left) {
    end(wait, not_leader_reply(wait.request, leader));
  }
}

// A look is answered; the end of a wait at a barrier is for the log to decide.
bool GroupRequests::due(ShardId shard, NameHash group, GroupWait& wait) {
  if (!wait.at_barrier()) {
    return true;
  }
  wait.deadline = kTickNever;
  wait.ending = true;
  wait.report = report_of(env_.machine.groups().view(shard, group));
  Pending pending;
  pending.kind = PendingKind::GroupWithdrawal;
  pending.request = wait.request;
  pending.request.shard = shard.value;
  pending.request.token = wait.generation;
  pending.group = keep_name(wait.name);
  env_.log.propose(shard,
                   locks::make_group_withdraw({SessionId{wait.request.session},
                                               RequestSequence{wait.request.sequence},
                                               wait.generation,
                                               wait.name}),
                   pending);
  return false;
}

void GroupRequests::on_tick() {
  if (judging_.under_way()) {
    waits_.judge(judging_, env_.clock.now);
  }
  const auto over = waits_.take_due(
      env_.clock.now,
      [this](ShardId shard, NameHash group, GroupWait& wait) { return due(shard, group, wait); });
  for (const GroupWait& wait : over) {
    if (!wait.refusal.empty()) {
      end(wait, error_reply(wait.request, ErrorCode::NotAllowed), wait.refusal);
      continue;
    }
    env_.replies.unpark(wait.connection);
    send_view(wait, *view_after(ShardId{wait.request.shard}, wait, true));
  }
}

void GroupRequests::on_withdrawn(const Pending& pending,
                                 ShardId shard,
                                 const locks::LockReply& decision) {
  const std::string name = take_name(pending);
  const bool timed_out =
      decision.code == LockCode::GroupTaken && answer_of(decision).code == GroupCode::TimedOut;
  const auto ended = waits_.take(shard, hash_name(name), [&](const GroupWait& wait) {
    return wait.generation == pending.request.token &&
           wait.request.session == pending.request.session;
  });
  for (const GroupWait& wait : ended) {
    if (timed_out && !wait.refusal.empty()) {
      end(wait, error_reply(wait.request, ErrorCode::NotAllowed), wait.refusal);
      continue;
    }
    // It was released, or its session ended, before: both have answered all that they found.
    const ErrorCode error = timed_out ? ErrorCode::BarrierTimedOut : ErrorCode::SessionExpired;
    end(wait, error_reply(wait.request, error), timed_out ? std::string_view{wait.report} : "");
  }
}

void GroupRequests::on_withdrawal_refused(const Pending& pending) {
  waits_.retry_ends(
      {ShardId{pending.request.shard}, hash_name(take_name(pending))},
      env_.clock.now + 1,
      [&](const GroupWait& wait) { return wait.request.session == pending.request.session; });
}

}  // namespace gcoord::server
