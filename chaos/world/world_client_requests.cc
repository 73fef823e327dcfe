// One request of a client on its way: sent, sent again, answered or given up.
#include "chaos/world/world_client.h"
#include "common/name_hash.h"
#include "protocol/lock_messages.h"
#include "protocol/read_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

Reason reason_of(protocol::ErrorCode code) {
  switch (code) {
    case protocol::ErrorCode::LockBusy:
      return Reason::Busy;
    case protocol::ErrorCode::LockNotHeld:
    case protocol::ErrorCode::TokenStale:
    case protocol::ErrorCode::HolderOther:
      return Reason::NotHeld;
    default:
      return Reason::None;
  }
}

// Whether the refusal says that nothing was done, by this try or by one before it. A wait that ran
// out says nothing of a place that came along with a moved lock: it may have been granted where the
// lock was, and have lapsed there (docs/adr/0053), before the client followed.
bool certain(protocol::ErrorCode code, bool followed) {
  return reason_of(code) != Reason::None ||
         (code == protocol::ErrorCode::WaitTimedOut && !followed);
}

}  // namespace

void WorldClient::send() {
  UnderWay& request = *operation_;
  const ShardId shard{request.slot.shard};
  NodeId to = request.slot.kind == protocol::RequestKind::OpenSession
                  ? NodeId{}
                  : known_.leaders().leader(shard);
  if (to == NodeId{} || request.weak()) {
    to = request.attempt % 8 == 7 && options_.changes_members()
             ? environment_.any_node(counts_.requests)
             : nodes_.any(random_);
  }
  request.sent_to = to;
  request.request_id = request.slot.request_id = ++counts_.requests;
  const std::uint64_t now = local_us();
  if (request.told.kind == AcquireKind::Wait) {
    const std::uint64_t wait_us = timeout_us() * 8;
    const std::uint64_t end_us = request.deadline_us - timeout_us() * 8;
    request.slot.deadline_ms =
        static_cast<std::uint32_t>(end_us > now ? std::min(wait_us, end_us - now) / 1000 + 1 : 1);
  } else if (request.slot.kind == protocol::RequestKind::LockAcquire) {
    request.slot.deadline_ms = static_cast<std::uint32_t>((request.deadline_us - now) / 1000 + 1);
  }
  if (request.numbered && request.attempt > 0 &&
      options_.mutant == Mutant::ClientRenumbersRetries) {
    session_.windows[shard.value].end(request.slot.sequence);
    request.slot.sequence = session_.windows[shard.value].begin();
  }
  if (request.numbered) {
    request.slot.acked_below =
        std::min(session_.windows[shard.value].acked_below(), request.slot.sequence);
  }
  if (request.slot.kind == protocol::RequestKind::LockAcquire && options_.clients_name_terms()) {
    known_.leaders().name_term(request.slot);
  }
  const bool patient = request.told.kind == AcquireKind::Wait || request.read.has_value();
  request.retry_us = now + timeout_us() * (patient ? 4 : 1);
  ++request.attempt;
  known_.leaders().forget(shard);  // Until it answers.
  environment_.send(to, request.slot, protocol::bytes_of(request.payload));
}

// The lock is in another shard, and there the request has another number: here nothing was done.
void WorldClient::follow(ShardId to) {
  UnderWay& request = *operation_;
  known_.learn_place(request.told.key, to);
  request.followed = true;
  if (request.numbered) {
    session_.windows[request.slot.shard].end(request.slot.sequence);
    request.slot.sequence = session_.windows[to.value].begin();
    request.told.sequence = request.slot.sequence;
    request.told.shard = to.value;
  }
  known_.find_place(request.slot, request.told.key);
  // One hint leads home and one from there to the lock; more are a circle, while it is on its way.
  constexpr std::uint32_t kAtOnceMax = 2;
  if (++request.moves_at_once > kAtOnceMax) {
    return retry();
  }
  send();
}

void WorldClient::retry() {
  operation_->moves_at_once = 0;
  const auto delay = backoff_.delay(operation_->attempt);
  operation_->request_id = 0;  // A late answer is as good as none.
  operation_->retry_us =
      local_us() + static_cast<std::uint64_t>(
                       std::chrono::duration_cast<std::chrono::microseconds>(delay).count());
}

void WorldClient::on_reply(const Reply& reply) {
  if (nodes_.take_view({reply.from, reply.slot, reply.payload}, local())) {
    look_at_lease();
    if (session_.lease != nullptr) {
      session_.lease->recount(nodes_.voters());
    }
    return count_acknowledged();
  }
  const auto sent = session_.keep_alives.find(reply.slot.request_id);
  if (sent != session_.keep_alives.end()) {
    const KeepAlive keep_alive = sent->second;
    session_.keep_alives.erase(sent);
    return on_keep_alive(keep_alive, reply);
  }
  if (!operation_ || reply.slot.request_id != operation_->request_id) {
    return;
  }
  known_.leaders().learn_term(ShardId{operation_->slot.shard}, Term{reply.slot.epoch});
  if (reply.slot.code != StatusCode::Ok) {
    return on_failure(reply.slot);
  }
  backoff_.on_success();
  if (operation_->read) {
    return on_read(reply);
  }
  counts_.quorum_reads += operation_->slot.has(protocol::RequestFlag::Quorum) ? 1u : 0u;
  known_.leaders().learn(ShardId{operation_->slot.shard}, reply.from);
  complete(Outcome::Ok, Reason::None, reply.slot);
}

// The answer to a LockRead of one name.
void WorldClient::on_read(const Reply& reply) {
  const auto decoded = protocol::decode_lock_read_reply(reply.payload);
  if (!decoded.ok() || decoded.value().shards.size() != 1 || decoded.value().names.size() != 1) {
    return complete(Outcome::Unknown, Reason::None, reply.slot);
  }
  const protocol::ShardAnswer& shard = decoded.value().shards.front();
  if (shard.error == protocol::ErrorCode::NotLeader ||
      shard.error == protocol::ErrorCode::NoLeader) {
    return retry();
  }
  if (shard.error != protocol::ErrorCode::None) {
    return complete(Outcome::Unknown, Reason::None, reply.slot);  // Not as fresh as asked.
  }
  if (!operation_->weak()) {
    known_.leaders().learn(ShardId{operation_->slot.shard}, reply.from);
  }
  complete_read(shard, decoded.value().names.front().verdict);
}

// What a lease or a round stands behind goes into the history like a check, the rest to its own
// judge.
void WorldClient::complete_read(const protocol::ShardAnswer& shard,
                                protocol::CheckVerdict verdict) {
  if (!operation_->weak()) {
    const bool by_round = operation_->read->consistency == protocol::ReadConsistency::Linearizable;
    counts_.quorum_reads += by_round ? 1u : 0u;
    protocol::ReplySlot slot;
    slot.extra = static_cast<std::uint64_t>(verdict);
    known_.note_position(shard.shard, shard.index);
    return complete(Outcome::Ok, Reason::None, slot);
  }
  WeakRead read = *operation_->read;
  read.index = shard.index;
  read.age_ms = shard.age_ms;
  read.verdict = verdict;
  operation_.reset();
  rest();
  ++counts_.acknowledged;
  known_.note_position(read.shard, read.index);
  environment_.record_read(read);
}

void WorldClient::on_failure(const protocol::ReplySlot& slot) {
  const auto code = static_cast<protocol::ErrorCode>(slot.detail);
  const ShardId shard{operation_->slot.shard};
  if (code == protocol::ErrorCode::NotLeader) {
    const NodeId leader{slot.leader};
    if (leader != NodeId{} && leader != operation_->sent_to && operation_->attempt % 4 != 3) {
      known_.leaders().learn(shard, leader);
      return send();
    }
    return retry();
  }
  if (code == protocol::ErrorCode::TermStale && operation_->attempt % 4 != 3) {
    known_.leaders().learn(shard, operation_->sent_to);
    return send();
  }
  if (code == protocol::ErrorCode::LockMoved && !operation_->read &&
      slot.extra < options_.shard_count) {
    return follow(ShardId{static_cast<std::uint32_t>(slot.extra)});
  }
  if (protocol::is_passing(code)) {
    return retry();
  }
  complete(certain(code, operation_->followed) ? Outcome::Fail : Outcome::Unknown,
           reason_of(code),
           slot);
  if (code == protocol::ErrorCode::SessionExpired && session_.lease != nullptr) {
    counts_.sessions.note_end(*session_.lease, local());
    session_.lease->on_lost();
    look_at_lease();
  }
}

void WorldClient::complete(Outcome outcome, Reason reason, const protocol::ReplySlot& slot) {
  const UnderWay ended = std::move(*operation_);
  operation_.reset();
  rest();
  if (ended.numbered && ended.slot.session == session_.id) {
    session_.windows[ended.slot.shard].end(ended.slot.sequence);
  }
  if (ended.slot.kind == protocol::RequestKind::OpenSession) {
    if (outcome == Outcome::Ok) {
      ++counts_.sessions.opened;
      session_.id = slot.extra;
      session_.lease = std::make_unique<client::SessionLease>(
          client::SessionLeaseOptions{.ttl = std::chrono::milliseconds{options_.ttl_ms},
                                      .margin = lease_margin_,
                                      .opened_at = std::chrono::microseconds{ended.told.call_ns}});
      session_.keep_alive_us = local_us();
    }
    return;
  }
  if (ended.slot.kind == protocol::RequestKind::LockMove) {
    counts_.moves += outcome == Outcome::Ok ? 1u : 0u;
    return;
  }
  Operation told = ended.told;
  told.outcome = outcome;
  told.reason = reason;
  told.return_ns = environment_.moment_ns();
  if (outcome == Outcome::Ok && told.op == Op::Acquire) {
    told.token = slot.token;
    told.already_held = slot.has(protocol::ReplyFlag::AlreadyHeld);
  }
  if (outcome == Outcome::Ok && slot.has(protocol::ReplyFlag::Indexed)) {
    known_.note_position(ShardId{told.shard}, LogIndex{slot.extra});
    environment_.record_write(ShardId{told.shard}, LogIndex{slot.extra}, told.return_ns);
  }
  if (outcome == Outcome::Ok && told.op == Op::Check) {
    told.verdict = slot.extra == static_cast<std::uint64_t>(protocol::CheckVerdict::Valid)
                       ? TokenState::Valid
                       : TokenState::Past;
  }
  if (told.op == Op::Check) {
    std::erase(end_.checks_left, std::pair{told.key, told.token});
  }
  environment_.record(told);
  counts_.acknowledged += outcome == Outcome::Ok ? 1u : 0u;
  if (outcome == Outcome::Ok && told.op == Op::Release) {
    released_[told.key] = told.token;
  }
  if (told.op == Op::Acquire && told.session == session_.id && session_.id != 0) {
    if (outcome == Outcome::Ok) {
      on_granted(told);
    } else if (outcome == Outcome::Unknown) {
      close_session();  // Whatever it may have got, it gives back.
    }
  }
}

}  // namespace gcoord::chaos
