#include "server/lock_service/session_requests.h"

#include "common/incarnation.h"
#include "protocol/force_messages.h"
#include "protocol/lease_messages.h"
#include "protocol/session_messages.h"
#include "server/interfaces/replies.h"
#include "server/sessions/renew_prefetch.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace gcoord::server {

using protocol::ErrorCode;

void SessionRequests::start(NodeId node, Incarnation incarnation) {
  GCOORD_ASSERT(node.value <= 0xffff);
  // 16 bits of the start's number: they come round after 65,536 restarts, when every session of
  // that life has been dead for longer than the longest TTL.
  id_prefix_ = std::uint64_t{node.value} << 48 | std::uint64_t{ordinal_of(incarnation) & 0xffffu}
                                                     << 32;
}

// Whether a majority of the nodes has admitted this life of the node, and so remembers its number.
// The ids of sessions are made of it: a directory that is empty, or comes back from the past, has
// numbers that were used, and does not know it before its peers refuse it. Only a heartbeat proves
// an admission: on the called side a channel is up before the caller has judged the answer. This
// node is one of the majority only if its directory is no new one: one that takes the place of
// another remembers nothing of it.
bool SessionRequests::admitted() const {
  const NodeView node = env_.log.view();
  if (!node.established) {
    return false;
  }
  const auto heard = std::ranges::count_if(
      node.peers, [](const NodePeerView& peer) { return peer.heard.value != 0; });
  return static_cast<std::size_t>(heard) + 1 > (node.peers.size() + 1) / 2;
}

void SessionRequests::open(const ClientRequest& request) {
  if (opened_count_ == 0xffff'ffffu) {
    return env_.replies.refuse(request, ErrorCode::SessionsExhausted);
  }
  if (!admitted()) {
    return env_.replies.refuse(request, ErrorCode::NotReady);
  }
  if (!env_.admission.space().takes_more()) {
    return env_.replies.refuse(request, ErrorCode::DiskLow);
  }
  ++opened_count_;
  protocol::ReplySlot reply = protocol::reply_to(request.slot);
  reply.extra = id_prefix_ | opened_count_;
  reply.ttl_ms = request.slot.ttl_ms;
  env_.replies.send(request.connection, reply);
}

void SessionRequests::grant(const ClientRequest& request) {
  const SessionId session{request.slot.session};
  const ShardId home = protocol::home_shard(session, shard_count_);
  if (request.slot.shard != home.value) {
    return env_.replies.refuse(request, ErrorCode::SessionElsewhere);
  }
  env_.submitter.submit(request, home, locks::make_register_session(session, request.slot.ttl_ms));
}

void SessionRequests::show(const ClientRequest& request) {
  const ShardId home = protocol::home_shard(SessionId{request.slot.session}, shard_count_);
  if (request.slot.shard != home.value) {
    return env_.replies.refuse(request, ErrorCode::SessionElsewhere);
  }
  if (!env_.leaders.leads(home)) {
    return env_.replies.redirect(request, env_.leaders.leader(home));
  }
  Pending pending;
  pending.kind = PendingKind::SessionLook;
  pending.connection = request.connection;
  pending.request = request.slot;
  env_.log.confirm(home, pending, ReadMode::Lease);
}

void SessionRequests::on_confirmed(const Pending& pending,
                                   const Status& status,
                                   NodeId leader_hint) {
  if (!status.ok()) {
    return env_.replies.send(pending.connection,
                             engine_refusal(pending.request, status, leader_hint));
  }
  const auto details = env_.views.describe(SessionId{pending.request.session}, env_.clock.now);
  protocol::ReplySlot reply = protocol::reply_to(pending.request);
  reply.ttl_ms = details.row.remaining_ms;
  env_.replies.send(pending.connection, reply, protocol::encode_session(details));
}

void SessionRequests::list(const ClientRequest& request) {
  const auto query = protocol::decode_session_query(request.payload);
  if (!query.ok()) {
    return env_.replies.refuse(request, protocol::refusal_of(query.status()));
  }
  protocol::SessionPage page;
  if (!env_.views.page(query.value(), env_.clock.now, page)) {
    return env_.replies.refuse(request, ErrorCode::Overloaded);
  }
  env_.replies.answer(request, protocol::encode_session_page(page));
}

void SessionRequests::keep_alive(const ClientRequest& request) {
  auto sessions = protocol::decode_keep_alive(request.payload);
  if (!sessions.ok()) {
    return env_.replies.refuse(request, ErrorCode::PayloadMalformed);
  }
  std::vector<SessionId> each_once = std::move(sessions).value();
  if (!std::ranges::is_sorted(each_once, {}, &SessionId::value)) {
    std::ranges::sort(each_once, {}, &SessionId::value);
  }
  const auto [first, last] = std::ranges::unique(each_once);
  each_once.erase(first, last);
  std::vector<protocol::KeepAliveEntry> missed;
  std::optional<RenewPrefetch> ahead;
  if (sessions::SessionClock* const only = env_.locks.clock().only()) {
    ahead.emplace(only->columns(), each_once);
  }
  for (std::size_t place = 0; place < each_once.size(); ++place) {
    const SessionId session = each_once[place];
    if (ahead.has_value()) {
      ahead->before(place);
    }
    if (heard_ != nullptr) {
      heard_->note(session, env_.clock.now);
    }
    // Renewed is the rule and is not said: what is missed matters.
    const sessions::RenewOutcome outcome = renew(session);
    if (outcome.code != sessions::RenewCode::Renewed) {
      const bool lost = outcome.code == sessions::RenewCode::Lost;
      const auto state =
          lost ? protocol::KeepAliveState::Expired : protocol::KeepAliveState::Unregistered;
      missed.push_back({session, state, 0});
    } else if (outcome.broken && request.slot.has(protocol::RequestFlag::TellBroken)) {
      missed.push_back({session, protocol::KeepAliveState::Broken, 0});
    }
  }
  protocol::ReplySlot reply = protocol::reply_to(request.slot);
  reply.extra = view_epoch_;
  env_.replies.send(request.connection, reply, protocol::encode_keep_alive_reply(missed));
}

// A session that is registered in many shards is renewed once a tick, however often it is asked
// for: a second time in the same tick changes nothing, and might cost a walk over a million rows.
sessions::RenewOutcome SessionRequests::renew(SessionId session) {
  constexpr std::uint32_t kManyRegistrations = 64;
  if (renewed_at_ != env_.clock.now) {
    renewed_at_ = env_.clock.now;
    renewed_.clear();
  }
  if (renewed_.contains(session.value)) {
    return {.code = sessions::RenewCode::Renewed};
  }
  const sessions::RenewOutcome outcome = env_.locks.clock().renew(session, env_.clock.now);
  if (outcome.registration_count > kManyRegistrations) {
    renewed_.insert(session.value);
  }
  return outcome;
}

void SessionRequests::close(const ClientRequest& request) {
  const SessionId session{request.slot.session};
  // At once: what comes from now on would stand behind the close.
  env_.admission.note_closed(session);
  if (request.slot.shard == protocol::kAllShards) {
    return propose_close(request, led_shards_of(session));
  }
  const ShardId shard{request.slot.shard};
  if (!env_.leaders.leads(shard)) {
    return env_.replies.redirect(request, env_.leaders.leader(shard));
  }
  propose_close(request, {shard});
}

std::vector<ShardId> SessionRequests::led_shards_of(SessionId session) const {
  std::vector<ShardId> shards;
  for (const sessions::Registration& each : env_.locks.clock().registrations_of(session)) {
    if (env_.leaders.leads(each.shard)) {
      shards.push_back(each.shard);
    }
  }
  return shards;
}

void SessionRequests::propose_close(const ClientRequest& request,
                                    const std::vector<ShardId>& shards) {
  if (shards.empty()) {
    return env_.replies.answer(request);
  }
  ++close_last_;
  closes_.emplace(close_last_,
                  CloseGroup{request.connection,
                             request.slot,
                             env_.clock.now_us,
                             shards.size(),
                             ErrorCode::None,
                             NodeId{}});
  // The sequence is not part of the window: a session is closed once, and closing it again is the
  // same.
  const RequestSequence sequence{std::max<std::uint64_t>(request.slot.sequence, 1)};
  const auto command = locks::make_close_session(SessionId{request.slot.session}, sequence);
  for (const ShardId shard : shards) {
    Pending pending;
    pending.kind = PendingKind::Close;
    pending.connection = request.connection;
    pending.group = close_last_;
    env_.log.propose(shard, command, pending);
  }
}

void SessionRequests::look_at_time(const CloseGroup& group) {
  if (env_.replies.slow().is_slow(group.started_us, env_.clock.now_us)) {
    env_.replies.slow().add({.connection = group.connection,
                             .request = group.request,
                             .started_us = group.started_us,
                             .spent = "until all of its shards had applied it",
                             .name = {}},
                            env_.clock.now_us);
  }
}

void SessionRequests::on_closed(const Pending& pending, ErrorCode error, NodeId leader_hint) {
  const auto found = closes_.find(pending.group);
  GCOORD_ASSERT(found != closes_.end());
  CloseGroup& group = found->second;
  if (error != ErrorCode::None) {
    group.worst = error;
    group.leader_hint = leader_hint;
  }
  --group.outstanding;
  if (group.outstanding > 0) {
    return;
  }
  look_at_time(group);
  protocol::ReplySlot reply = group.worst == ErrorCode::None
                                  ? protocol::reply_to(group.request)
                                  : error_reply(group.request, group.worst);
  reply.leader = group.leader_hint.value;
  env_.replies.send(group.connection, reply);
  closes_.erase(found);
}

void SessionRequests::losses(const ClientRequest& request) {
  std::vector<protocol::LossEntry> losses;
  for (locks::LostLock& lost : env_.locks.losses(SessionId{request.slot.session})) {
    if (losses.size() < protocol::kLossesMax) {
      losses.push_back({lost.token, lost.broken_at, lost.shard, std::move(lost.name)});
    }
  }
  env_.replies.answer(request, protocol::encode_losses(losses));
}

}  // namespace gcoord::server
