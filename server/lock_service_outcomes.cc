// Outcomes: what the engine decided becomes answers to clients; and what time makes due.
#include "locks/lock_break_wait.h"
#include "locks/lock_snapshot.h"
#include "server/client_address.h"
#include "server/device_links.h"
#include "server/lock_service.h"

#include <algorithm>

namespace gcoord::server {

using locks::LockCode;
using rpc::ErrorCode;

std::uint32_t LockService::ttl_left_ms(ShardId shard, SessionId session) const {
  const auto& tables = locks_.tables();
  const locks::SessionRow row = locks::find_session(tables, shard, session);
  if (row.value == 0) {
    return 0;
  }
  const std::uint64_t left = locks_.clock().remaining_ticks(row, now_) * options_.tick_ms;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, tables.sessions[row].ttl_ms));
}

void LockService::apply(const AppliedEntry& entry) {
  applied_[entry.shard.value] = entry.index.value;
  apply_command(entry);
  replica_reads_.on_news(entry.shard, now_us_);
}

void LockService::apply_command(const AppliedEntry& entry) {
  const auto header = decode_record_header(entry.payload);
  const bool told = entry.kind == consensus::EntryKind::Command && header.has_value() &&
                    header->kind == RecordKind::LockCommand;
  if (!told) {
    GCOORD_ASSERT(entry.cookie == 0);
    return;
  }
  locks::LockEvents events{events_.data(), static_cast<std::uint32_t>(events_.size()), 0};
  const bool tapped = tap_ != nullptr && tap_->on();
  const locks::LockReply decision =
      tapped
          ? apply_tapped(entry, events)
          : locks_.apply_bytes(entry.shard, entry.index, record_body(entry.payload), now_, events);
  metrics_.sessions->set(locks_.tables().sessions.used());
  metrics_.locks->set(locks_.tables().locks.used());
  if (decision.code == LockCode::SessionClosed) {
    note_closed(record_body(entry.payload));
  }
  if (decision.code == LockCode::MovedOut && leads(entry.shard)) {
    moves_.on_departed(entry.shard);
  }
  if (decision.code == LockCode::MovedIn && entry.cookie == 0 && leads(entry.shard)) {
    moves_.on_arrived(entry.shard);
  }
  if (entry.cookie != 0) {
    answer(pending_.take(entry.cookie), entry, decision);
  }
  if (events.count > 0) {
    answer_events(entry, events);
  }
}

void LockService::note_closed(std::span<const std::byte> bytes) {
  if (const auto command = locks::decode(bytes); command.ok()) {
    closed_.note(command.value().session);
  }
}

locks::LockReply LockService::apply_tapped(const AppliedEntry& entry, locks::LockEvents& events) {
  locks::LockCommand command{.kind = locks::LockCommandKind::Unknown};
  if (entry.command != nullptr) {
    command = *entry.command;
  } else if (const auto decoded = locks::decode(record_body(entry.payload)); decoded.ok()) {
    command = decoded.value();
  }
  return server::apply_tapped(*tap_, locks_, {entry.shard, entry.index, now_}, command, events);
}

void LockService::answer(const Pending& pending,
                         const AppliedEntry& entry,
                         const locks::LockReply& decision) {
  switch (pending.kind) {
    case PendingKind::Request:
      quota_.on_decided(pending.request);
      return answer_request(pending, entry, decision);
    case PendingKind::Close:
      return finish_close(pending.group, ErrorCode::None, NodeId{});
    case PendingKind::Move:
      return moves_.on_decided(pending.group, decision);
    case PendingKind::Expiry:
      return expiry_.on_decided(pending.group, now_);
    case PendingKind::TimedOut:
    case PendingKind::Broken:
    case PendingKind::Delay:
      return;  // Their effects are told by events and by the clock of the lock tables.
    case PendingKind::Read:
    case PendingKind::Deadlock:
    case PendingKind::ReplicaRead:
    case PendingKind::AgeQuestion:
    case PendingKind::SessionLook:
    case PendingKind::PastRead:
    case PendingKind::None:
      break;
  }
  GCOORD_ASSERT(false);
}

void LockService::answer_request(const Pending& pending,
                                 const AppliedEntry& entry,
                                 const locks::LockReply& decision) {
  if (decision.code == LockCode::Waiting) {
    return bind_wait(pending, entry.shard);
  }
  const SessionId session{pending.request.session};
  const DecisionContext context{entry.term, ttl_left_ms(entry.shard, session)};
  metrics_.command_us->observe_us(now_us_ - pending.started_us);
  if (pending.request.kind == rpc::RequestKind::LockCancel) {
    return send(pending.connection, cancel_reply(pending.request, decision, context));
  }
  if (pending.request.kind == rpc::RequestKind::SessionGrant) {
    return send(pending.connection, grant_reply(pending.request, decision));
  }
  metrics_.grants->add(decision.code == LockCode::Granted ? 1 : 0);
  send(pending.connection,
       indexed(decision_reply(pending.request, decision, context), pending.request, entry.index));
}

void LockService::bind_wait(const Pending& pending, ShardId shard) {
  const rpc::LockAcquire acquire = rpc::acquire_from_slot(pending.request);
  Wait wait{pending.connection, pending.request, pending.started_us, kTickNever};
  if (acquire.wait_ms != rpc::kForeverMs) {
    wait.deadline = now_ + (acquire.wait_ms / options_.tick_ms + 1);
  }
  const WaitKey key{shard, acquire.caller.session, acquire.caller.sequence};
  const auto replaced = waits_.bind(key, wait);
  replies_.park(wait.connection);
  metrics_.waits->set(static_cast<std::int64_t>(waits_.size()));
  if (replaced.has_value()) {
    // The client asked again, on this or on another connection; one request gets one answer.
    end_wait(*replaced, error_reply(replaced->request, ErrorCode::SequenceReused));
  }
}

void LockService::end_wait(const Wait& wait, const rpc::ReplySlot& reply, std::string_view why) {
  replies_.unpark(wait.connection);
  send(wait.connection, reply, rpc::bytes_of(why));
}

DeadlockWatch::Doors LockService::deadlock_doors() {
  return {.leads = [this](ShardId shard) { return leads(shard); },
          .leader = [this](ShardId shard) { return engine_->view(shard).leader; },
          .coordinator = [this] { return office_.coordinator(); },
          .send = [this](NodeId to, auto message) { engine_->send_peer_message(to, message); },
          .ask =
              [this](ShardId shard, std::uint64_t group) {
                Pending pending;
                pending.kind = PendingKind::Deadlock;
                pending.group = group;
                pending.request.shard = shard.value;
                engine_->read(shard, pending_.add(pending));
              },
          .end =
              [this](const WaitKey& key, LogIndex index) {
                Pending pending;
                pending.kind = PendingKind::Broken;
                propose(
                    key.shard, locks::make_break_wait(key.session, key.sequence, index), pending);
              },
          .search = [this](auto edges, auto any) { return sweeps_.search(edges, any); }};
}

void LockService::answer_events(const AppliedEntry& entry, const locks::LockEvents& events) {
  for (std::uint32_t i = 0; i < events.count; ++i) {
    const locks::LockEvent& event = events.events[i];
    const auto wait = waits_.take({event.shard, event.session, event.sequence});
    if (!wait.has_value()) {
      continue;  // This node does not lead, or the client has not asked here.
    }
    metrics_.grants->add(event.code == LockCode::Granted ? 1 : 0);
    metrics_.waits_timed_out->add(event.code == LockCode::WaitTimedOut ? 1 : 0);
    metrics_.wait_us->observe_us(now_us_ - wait->started_us);
    const DecisionContext context{entry.term, ttl_left_ms(event.shard, event.session)};
    const std::string why = event.code == LockCode::Deadlock
                                ? deadlocks_.take_text({event.shard, event.session, event.sequence})
                                : std::string{};
    end_wait(*wait,
             indexed(event_reply(wait->request, event, context), wait->request, entry.index),
             why);
  }
  metrics_.waits->set(static_cast<std::int64_t>(waits_.size()));
}

void LockService::on_proposal_failed(std::uint64_t cookie,
                                     const Status& status,
                                     NodeId leader_hint) {
  const Pending pending = pending_.take(cookie);
  switch (pending.kind) {
    case PendingKind::Request:
      quota_.on_decided(pending.request);
      return send(pending.connection, engine_refusal(pending.request, status, leader_hint));
    case PendingKind::Close: {
      const auto refusal = engine_refusal(pending.request, status, leader_hint);
      return finish_close(pending.group, static_cast<ErrorCode>(refusal.detail), leader_hint);
    }
    case PendingKind::TimedOut:
      // Still here only if this node still leads: try again in a tick.
      return waits_.set_deadline({ShardId{pending.request.shard},
                                  SessionId{pending.request.session},
                                  RequestSequence{pending.request.sequence}},
                                 now_ + 1);
    case PendingKind::Expiry:
      return expiry_.on_refused(pending.group, now_);
    case PendingKind::Move:
      return moves_.on_refused(pending.group, status, leader_hint);
    case PendingKind::Broken:
      return;  // The circle is found again if it is still there.
    case PendingKind::Delay:
      return locks_.delays().on_refused(
          ShardId{pending.request.shard}, FencingToken{pending.request.token}, now_ + 1);
    case PendingKind::Read:
    case PendingKind::Deadlock:
    case PendingKind::ReplicaRead:
    case PendingKind::AgeQuestion:
    case PendingKind::SessionLook:
    case PendingKind::PastRead:
    case PendingKind::None:
      break;
  }
  GCOORD_ASSERT(false);
}

void LockService::finish_close(std::uint64_t group_id, ErrorCode error, NodeId leader_hint) {
  const auto found = closes_.find(group_id);
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
  rpc::ReplySlot reply = group.worst == ErrorCode::None ? rpc::reply_to(group.request)
                                                        : error_reply(group.request, group.worst);
  reply.leader = group.leader_hint.value;
  send(group.connection, reply);
  closes_.erase(found);
}

void LockService::on_read(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  const Pending pending = pending_.take(cookie);
  if (pending.kind == PendingKind::Deadlock) {
    return deadlocks_.on_confirmed(pending.group, ShardId{pending.request.shard}, status);
  }
  if (pending.kind != PendingKind::Read) {
    return on_read_of_replicas(pending, status, leader_hint);
  }
  reads_.on_confirmed(pending.group, ShardId{pending.request.shard}, status, leader_hint, now_);
}

void LockService::on_role(ShardId shard, consensus::Role role, Term /*term*/, NodeId leader) {
  const bool leading = role == consensus::Role::Leader;
  if (leading == leads(shard)) {
    return;
  }
  set_leads(shard, leading);
  if (leading) {
    locks_.on_became_leader(shard, now_, options_.election_ticks);
    expiry_.on_led();
    moves_.on_role(shard, true);
    return;
  }
  locks_.on_lost_leadership(shard);
  moves_.on_role(shard, false);
  end_waits(shard, leader);
}

// Their clients ask again.
void LockService::end_waits(ShardId shard, NodeId leader) {
  for (const Wait& wait : waits_.take_shard(shard)) {
    end_wait(wait, not_leader_reply(wait.request, leader));
  }
  metrics_.waits->set(static_cast<std::int64_t>(waits_.size()));
}

void LockService::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  const std::vector<std::byte> state = locks_.serialize(shard);
  bytes.insert(bytes.end(), state.begin(), state.end());
}

Status LockService::install(ShardId shard, std::span<const std::byte> bytes) {
  if (tap_ != nullptr && tap_->on()) {
    tap_->on_installed(shard);
  }
  applied_[shard.value] = 0;
  // What the new state covers tells no events, so a wait that was found in the old one might never
  // end (a resident node may lead before its host has the state).
  if (waits_.size() != 0) {
    end_waits(shard, engine_->view(shard).leader);
  }
  if (bytes.empty()) {
    locks_.drop(shard);
    return Status{};
  }
  return locks_.deserialize(shard, bytes, now_);
}

bool LockService::plausible(ShardId, std::span<const std::byte> bytes) const {
  return bytes.empty() || locks::parse_snapshot(bytes).ok();
}

std::uint64_t LockService::state_hash(ShardId shard) const {
  return locks_.state_hash(shard);
}

void LockService::on_loop_gap(std::uint64_t ticks) {
  expiry_.on_loop_gap(ticks, now_ + ticks);
  office_.on_loop_gap(ticks);
}

void LockService::on_peer_message(NodeId from, std::span<const std::byte> message) {
  if (tap_ != nullptr && tap_->on_peer_message(from, message)) {
    return;
  }
  if (!message.empty() && message.front() == kReplicaAgesKind) {
    ages_.on_message(from, message);
  } else if (!message.empty() && message.front() == kDeviceFactsKind) {
    if (device_facts_sink_) {
      device_facts_sink_(from, message);
    }
  } else if (NodeFeatures::is_ours(message)) {
    metrics_.peer_messages_bad->add(node_features_.on_message(from, message) ? 0 : 1);
  } else if (CoordinatorDriver::is_ours(message)) {
    office_.on_message(from, message, now_);
  } else if (DeadlockWatch::is_ours(message)) {
    deadlocks_.on_peer_message(from, message);
  } else if (LockMoves::is_ours(message)) {
    moves_.on_peer_message(from, message);
  } else if (message.empty() || message.front() != kClientAddressKind) {
    expiry_.on_peer_message(from, message, now_);
  } else if (const auto address = decode_client_address(message); address && address_sink_) {
    address_sink_(from, *address);
  }
}

void LockService::end_overdue_waits() {
  while (const auto key = waits_.next_due(now_)) {
    Pending pending;
    pending.kind = PendingKind::TimedOut;
    pending.request.shard = key->shard.value;
    pending.request.session = key->session.value;
    pending.request.sequence = key->sequence.value;
    propose(key->shard, locks::make_cancel_wait(key->session, key->sequence, true), pending);
  }
}

void LockService::set_time(std::uint64_t now_us) {
  GCOORD_ASSERT(now_us_ <= now_us);
  now_us_ = now_us;
  now_ = Tick{now_us / (options_.tick_ms * std::uint64_t{1000}) + 1};
}

void LockService::on_tick() {
  if (ticked_ != now_) {
    ticked_ = now_;
    end_overdue_waits();
    office_.on_tick(now_);
    deadlocks_.on_tick(now_, now_us_);
    end_due_delays();
    moves_.on_tick(now_);
    replica_reads_.on_tick(now_us_);
    session_views_.on_tick();
  }
  node_features_.on_tick(now_);
  expiry_.on_pass(now_);
  ages_.flush(now_us_);  // What was asked for since the last pass leaves together.
}

std::uint64_t LockService::until_next_deadline_ms() const {
  const Tick timed = min_id(waits_.next_deadline(), expiry_.next_deadline());
  const Tick searched = min_id(deadlocks_.next_deadline(), moves_.next_deadline());
  const Tick next = min_id(min_id(timed, min_id(searched, office_.next_deadline())),
                           locks_.delays().next_deadline());
  if (replica_reads_.waiting()) {
    return options_.tick_ms;
  }
  if (next == kTickNever) {
    return kNeverMs;
  }
  return next <= now_ ? 0 : (next - now_) * options_.tick_ms;
}

}  // namespace gcoord::server
