#include "server/rendezvous/requests.h"

#include "common/assert.h"
#include "common/name_hash.h"
#include "locks/commands/group_command.h"
#include "membership/rendezvous/command.h"
#include "membership/rendezvous/limits.h"
#include "protocol/lock_messages.h"
#include "server/interfaces/replies.h"

#include <algorithm>
#include <vector>

namespace gcoord::server {

using locks::LockCode;
using membership::RendezvousCode;
using protocol::ErrorCode;

namespace {

// What protocol/rendezvous admits, the machine must be able to take.
static_assert(protocol::kRendezvousNameBytesMax == membership::kRendezvousNameBytesMax);
static_assert(protocol::kRendezvousPayloadBytesMax == membership::kRendezvousPayloadBytesMax);
static_assert(protocol::kRendezvousMembersMax == membership::kRendezvousMembersMax);

// Of a rendezvous at which nobody is. The machine draws from 2 on.
constexpr std::uint64_t kVersionOfNobody = 1;

ErrorCode error_of(RendezvousCode code) {
  switch (code) {
    case RendezvousCode::Waits:
    case RendezvousCode::Completed:
    case RendezvousCode::Left:
    case RendezvousCode::LastCallEnded:
      return ErrorCode::None;
    case RendezvousCode::BoundsDiffer:
      return ErrorCode::RendezvousBoundsDiffer;
    case RendezvousCode::Full:
      return ErrorCode::RendezvousFull;
    case RendezvousCode::ShardFull:
      return ErrorCode::GroupsExhausted;
    case RendezvousCode::NotThere:
      return ErrorCode::RendezvousNotThere;
    case RendezvousCode::TimedOut:
      return ErrorCode::RendezvousTimedOut;
    case RendezvousCode::NotWaiting:
    case RendezvousCode::CallStale:
    case RendezvousCode::Malformed:
    case RendezvousCode::None:
      break;
  }
  return ErrorCode::SlotInvalid;
}

bool waits_in(const membership::Rendezvous& rendezvous, const protocol::RequestSlot& request) {
  return std::ranges::any_of(rendezvous.waiting, [&](const membership::RendezvousWaiter& waiter) {
    return waiter.session.value == request.session && waiter.sequence == request.sequence;
  });
}

// Who had come when a wait's deadline passed.
std::string report_of(const membership::Rendezvous& rendezvous) {
  std::string text = std::to_string(rendezvous.waiting.size()) + " of at least " +
                     std::to_string(rendezvous.bounds.members_min) + " had come";
  if (const std::uint32_t present = rendezvous.present(); present != 0) {
    text += "; " + std::to_string(present) + " members of round " +
            std::to_string(rendezvous.round) + " had not come again";
  }
  return text;
}

}  // namespace

// Whether the fields are sound. False: it was refused.
bool RendezvousRequests::admit(const ClientRequest& request) {
  const ErrorCode code =
      protocol::check_rendezvous_request(request.slot, request.payload, env_.limits);
  if (code != ErrorCode::None) {
    env_.replies.refuse(request, code);
  }
  return code == ErrorCode::None;
}

void RendezvousRequests::join(const ClientRequest& request) {
  if (!admit(request)) {
    return;
  }
  const auto decoded = protocol::decode_rendezvous_join(request.payload);
  GCOORD_ASSERT(decoded.ok());
  const protocol::RendezvousJoin& join = decoded.value();
  submit_group_request(env_,
                       request,
                       {.name = join.name,
                        .body = membership::encode_rendezvous_arrive(
                            {join.members_min, join.members_max, join.last_call_ms}, join.payload),
                        .ttl_ms = request.slot.ttl_ms,
                        .full = full()});
}

void RendezvousRequests::leave(const ClientRequest& request) {
  if (admit(request)) {
    submit_group_request(
        env_,
        request,
        {.name = request.text(), .body = membership::encode_rendezvous_leave(), .full = false});
  }
}

bool RendezvousRequests::full() const {
  const membership::RendezvousUsage& usage = env_.machine.rendezvous().usage();
  return usage.rendezvous >= membership::kRendezvousPerNodeMax ||
         usage.waiting + usage.members >= membership::kRendezvousSessionsPerNodeMax ||
         waits_.size() >= kRendezvousWaitsMax;
}

void RendezvousRequests::get(const ClientRequest& request) {
  if (!admit(request)) {
    return;
  }
  const auto query = protocol::decode_rendezvous_query(request.payload);
  GCOORD_ASSERT(query.ok());
  const ShardId shard = shard_of(hash_name(query.value().name), env_.limits.shard_count);
  if (!env_.leaders.leads(shard)) {
    return env_.replies.redirect(request, env_.leaders.leader(shard), env_.leaders.term(shard));
  }
  Pending pending;
  pending.kind = PendingKind::RendezvousLook;
  pending.connection = request.connection;
  pending.started_us = env_.clock.now_us;
  pending.request = request.slot;
  pending.request.shard = shard.value;
  pending.request.token = query.value().version;
  pending.group = ++name_last_;
  names_.emplace(pending.group, query.value().name);
  env_.log.confirm(shard, pending, ReadMode::Lease);
}

void RendezvousRequests::on_confirmed(const Pending& pending,
                                      const Status& status,
                                      NodeId leader_hint) {
  auto kept = names_.extract(pending.group);
  GCOORD_ASSERT(!kept.empty());
  if (!status.ok()) {
    return env_.replies.send(pending.connection,
                             engine_refusal(pending.request, status, leader_hint));
  }
  const ShardId shard{pending.request.shard};
  RendezvousWait wait{
      .connection = pending.connection,
      .request = pending.request,
      .name = std::move(kept.mapped()),
      .deadline = deadline_of(std::min(pending.request.deadline_ms, kViewWaitMsMax)),
      .report = {},
      .version = pending.request.token,
      .owner = judging_.owner(pending.connection)};
  const NameHash name = hash_name(wait.name);
  const bool waits = pending.request.has(protocol::RequestFlag::Wait) &&
                     env_.leaders.leads(shard) && state_of(shard, name).version == wait.version;
  if (!waits) {
    return send_state(shard, wait);
  }
  env_.replies.park(wait.connection);
  if (!waits_.add(shard, name, wait)) {
    end(wait, error_reply(wait.request, ErrorCode::Overloaded));
  }
}

protocol::RendezvousState RendezvousRequests::state_of(ShardId shard, NameHash name) const {
  const membership::Rendezvous* const found = env_.machine.rendezvous().find(shard, name);
  if (found == nullptr) {
    return {.version = kVersionOfNobody};
  }
  return {.version = found->version,
          .round = found->round,
          .alive = found->alive().mask,
          .size = static_cast<std::uint32_t>(found->members.size()),
          .present = found->present(),
          .waiting = static_cast<std::uint32_t>(found->waiting.size()),
          .members_min = found->bounds.members_min,
          .members_max = found->bounds.members_max,
          .last_call_ms = found->bounds.last_call_ms,
          .last_call = found->call != 0};
}

void RendezvousRequests::send_state(ShardId shard, const RendezvousWait& wait) {
  protocol::ReplySlot reply = protocol::reply_to(wait.request);
  reply.epoch = env_.leaders.term(shard).value;
  env_.replies.send(wait.connection,
                    reply,
                    protocol::encode_rendezvous_state(state_of(shard, hash_name(wait.name))));
}

Tick RendezvousRequests::deadline_of(std::uint32_t wait_ms) const {
  return wait_ms == protocol::kForeverMs ? kTickNever
                                         : env_.clock.now + (wait_ms / env_.clock.tick_ms + 1);
}

void RendezvousRequests::on_decided(const Pending& pending,
                                    const NamedGroup& named,
                                    const locks::LockReply& decision) {
  const bool taken = decision.code == LockCode::GroupTaken;
  const membership::RendezvousReply answer = rendezvous_of(decision);
  const ErrorCode error = taken ? error_of(answer.code) : server::error_of(decision.code);
  if (error != ErrorCode::None) {
    return env_.replies.send(pending.connection, error_reply(pending.request, error));
  }
  if (pending.request.kind == protocol::RequestKind::RendezvousJoin) {
    return answer_join(pending, named);
  }
  protocol::ReplySlot reply = protocol::reply_to(pending.request);
  reply.epoch = env_.leaders.term(named.shard).value;
  env_.replies.send(pending.connection, reply);
}

// The round that it is in, or a wait for one. A request that was sent again takes the place of the
// one that waits.
void RendezvousRequests::answer_join(const Pending& pending, const NamedGroup& named) {
  const NameHash name = hash_name(named.name);
  const membership::Rendezvous* const found = env_.machine.rendezvous().find(named.shard, name);
  const RendezvousWait wait{.connection = pending.connection,
                            .request = pending.request,
                            .name = std::string{named.name},
                            .deadline = deadline_of(pending.request.deadline_ms),
                            .joins = true,
                            .report = {},
                            .owner = judging_.owner(pending.connection)};
  if (found != nullptr && send_round(named.shard, *found, wait)) {
    return;
  }
  if (!env_.leaders.leads(named.shard)) {
    return env_.replies.send(wait.connection,
                             not_leader_reply(wait.request, env_.leaders.leader(named.shard)));
  }
  if (found == nullptr || !waits_in(*found, pending.request)) {
    // The session came again meanwhile, or is over.
    return env_.replies.send(wait.connection, error_reply(wait.request, ErrorCode::SequenceReused));
  }
  const auto replaced = waits_.take(named.shard, name, [&](const RendezvousWait& other) {
    return other.joins && other.request.session == wait.request.session;
  });
  for (const RendezvousWait& other : replaced) {
    end(other, error_reply(other.request, ErrorCode::SequenceReused));
  }
  env_.replies.park(wait.connection);
  if (!waits_.add(named.shard, name, wait)) {
    end(wait, error_reply(wait.request, ErrorCode::Overloaded));
  }
}

// False: the request is not in the last round.
bool RendezvousRequests::send_round(ShardId shard,
                                    const membership::Rendezvous& rendezvous,
                                    const RendezvousWait& wait) {
  const auto member =
      std::ranges::find_if(rendezvous.members, [&](const membership::RendezvousMember& each) {
        return each.session.value == wait.request.session && each.sequence == wait.request.sequence;
      });
  if (member == rendezvous.members.end()) {
    return false;
  }
  protocol::ReplySlot reply = protocol::reply_to(wait.request);
  reply.epoch = env_.leaders.term(shard).value;
  reply.token = rendezvous.round;
  reply.extra = static_cast<std::uint64_t>(member - rendezvous.members.begin());
  std::vector<protocol::RendezvousMemberRow> members;
  for (const membership::RendezvousMember& each : rendezvous.members) {
    members.push_back({each.session, each.payload});
  }
  env_.replies.send(wait.connection, reply, protocol::encode_rendezvous_round(members));
  return true;
}

void RendezvousRequests::end(const RendezvousWait& wait,
                             const protocol::ReplySlot& reply,
                             std::string_view why) {
  env_.replies.unpark(wait.connection);
  env_.replies.send(wait.connection, reply, protocol::bytes_of(why));
}

void RendezvousRequests::on_effects(const GroupEffects& effects) {
  for (const NameHash name : effects.rendezvous) {
    on_changed(effects.shard, name);
  }
}

void RendezvousRequests::on_changed(ShardId shard, NameHash name) {
  const membership::Rendezvous* const found = env_.machine.rendezvous().find(shard, name);
  calls_.update({shard, name}, found, env_.clock.now);
  const auto over = waits_.take(shard, name, [&](const RendezvousWait& wait) {
    return !wait.joins || found == nullptr || !waits_in(*found, wait.request);
  });
  for (const RendezvousWait& wait : over) {
    if (!wait.joins) {
      env_.replies.unpark(wait.connection);
      send_state(shard, wait);
      continue;
    }
    if (found != nullptr && send_round(shard, *found, wait)) {
      env_.replies.unpark(wait.connection);
      continue;
    }
    const bool lives = env_.machine.locks().lives(shard, SessionId{wait.request.session});
    end(wait,
        error_reply(wait.request,
                    lives ? ErrorCode::RendezvousNotThere : ErrorCode::SessionExpired));
  }
}

void RendezvousRequests::end_waits(ShardId shard, NodeId leader) {
  const auto left =
      waits_.take_of_shard(shard, [](NameHash, const RendezvousWait&) { return true; });
  for (const RendezvousWait& wait : left) {
    end(wait, not_leader_reply(wait.request, leader));
  }
}

void RendezvousRequests::on_installed(ShardId shard) {
  calls_.reset(shard, env_.machine.rendezvous(), env_.clock.now);
}

// A look is answered; the end of a wait for a round is for the log to decide.
bool RendezvousRequests::due(ShardId shard, RendezvousWait& wait) {
  if (!wait.joins) {
    return true;
  }
  const membership::Rendezvous* const found =
      env_.machine.rendezvous().find(shard, hash_name(wait.name));
  wait.deadline = kTickNever;
  wait.ending = true;
  wait.report = found == nullptr ? std::string{} : report_of(*found);
  Pending pending;
  pending.kind = PendingKind::RendezvousWithdrawal;
  pending.request = wait.request;
  pending.request.shard = shard.value;
  env_.log.propose(shard,
                   locks::make_group_withdraw({.session = SessionId{wait.request.session},
                                               .sequence = RequestSequence{wait.request.sequence},
                                               .name = wait.name,
                                               .flags = locks::kWithdrawRendezvous}),
                   pending);
  return false;
}

void RendezvousRequests::propose_call_ends() {
  for (const LastCalls::Call& call : calls_.take_due(env_.clock.now)) {
    const membership::Rendezvous* const found =
        env_.machine.rendezvous().find(call.at.shard, call.at.name);
    if (found == nullptr || found->waiting.empty() || !env_.leaders.leads(call.at.shard)) {
      continue;
    }
    const membership::RendezvousWaiter& first = found->waiting.front();
    Pending pending;
    pending.kind = PendingKind::RendezvousCall;
    pending.request.shard = call.at.shard.value;
    pending.request.token = call.number;
    env_.log.propose(call.at.shard,
                     locks::make_group_withdraw({.session = first.session,
                                                 .sequence = RequestSequence{first.sequence},
                                                 .generation = call.number,
                                                 .name = found->name,
                                                 .flags = locks::kWithdrawLastCall}),
                     pending);
  }
}

void RendezvousRequests::on_tick() {
  if (judging_.under_way()) {
    waits_.judge(judging_, env_.clock.now);
  }
  const auto over = waits_.take_due(
      env_.clock.now,
      [this](ShardId shard, NameHash, RendezvousWait& wait) { return due(shard, wait); });
  for (const RendezvousWait& wait : over) {
    if (!wait.refusal.empty()) {
      end(wait, error_reply(wait.request, ErrorCode::NotAllowed), wait.refusal);
      continue;
    }
    env_.replies.unpark(wait.connection);
    send_state(ShardId{wait.request.shard}, wait);
  }
  propose_call_ends();
}

void RendezvousRequests::on_withdrawn(const Pending& pending,
                                      ShardId shard,
                                      const locks::LockReply& decision) {
  const bool taken = decision.code == LockCode::GroupTaken;
  const bool timed_out = taken && rendezvous_of(decision).code == RendezvousCode::TimedOut;
  const auto ended = waits_.take_of_shard(shard, [&](NameHash, const RendezvousWait& wait) {
    return wait.joins && wait.request.session == pending.request.session &&
           wait.request.sequence == pending.request.sequence;
  });
  for (const RendezvousWait& wait : ended) {
    if (timed_out && !wait.refusal.empty()) {
      end(wait, error_reply(wait.request, ErrorCode::NotAllowed), wait.refusal);
      continue;
    }
    // It was answered before when the round was complete or its session ended.
    const ErrorCode error = timed_out ? ErrorCode::RendezvousTimedOut : ErrorCode::SessionExpired;
    end(wait, error_reply(wait.request, error), timed_out ? std::string_view{wait.report} : "");
  }
}

void RendezvousRequests::on_withdrawal_refused(const Pending& pending) {
  waits_.retry_ends_of_shard(
      ShardId{pending.request.shard}, env_.clock.now + 1, [&](const RendezvousWait& wait) {
        return wait.request.session == pending.request.session &&
               wait.request.sequence == pending.request.sequence;
      });
}

// Where it had no effect and the call still runs, whoever waits first now is the next to be named.
void RendezvousRequests::on_call_ended(const Pending& pending,
                                       ShardId shard,
                                       const locks::LockReply& decision) {
  if (decision.code != LockCode::GroupTaken) {
    calls_.retry(shard, pending.request.token, env_.clock.now + 1);
  }
}

void RendezvousRequests::on_call_refused(const Pending& pending) {
  calls_.retry(ShardId{pending.request.shard}, pending.request.token, env_.clock.now + 1);
}

}  // namespace gcoord::server
