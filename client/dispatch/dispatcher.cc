// Sending, answers and their consequences. Time is in dispatcher_time.cc.
#include "client/dispatch/dispatcher.h"

#include "client/dispatch/answers.h"
#include "client/net/failure.h"
#include "common/assert.h"
#include "protocol/lock_messages.h"
#include "protocol/reply_sink.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

// A chain of hints longer than this is a circle; wait for the nodes to agree.
constexpr std::uint32_t kRedirectsMax = 3;

// One hint leads home and one from there to the lock. More is a circle: two shards that each say
// "the other", because the lock is on its way home and the home has yet to hear of it.
constexpr std::uint32_t kMovesAtOnceMax = 2;

// Whether its answer may be that a hold was broken by force.
bool may_tell_broken(protocol::RequestKind kind) {
  return kind == protocol::RequestKind::LockRelease || kind == protocol::RequestKind::LockCheck ||
         kind == protocol::RequestKind::KeepAlive;
}

std::uint32_t milliseconds_until(TimePoint moment, TimePoint now) {
  if (moment == kTimeNever) {
    return protocol::kForeverMs;
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(moment - now).count();
  // At least 1: an acquire that waits stays one when it is sent again late.
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, protocol::kWaitMsMax));
}

}  // namespace

Dispatcher::Dispatcher(const ClientOptions& options, NodeSet& nodes, SessionLost on_session_lost)
    : options_(options),
      nodes_(nodes),
      on_session_lost_(std::move(on_session_lost)),
      backoff_({.min = options.backoff_min,
                .max = options.backoff_max,
                .budget = options.retry_budget,
                .seed = options.seed + 1}),
      places_(nodes),
      withdrawals_(options,
                   nodes,
                   places_,
                   [this](OperationPtr operation) { submit(std::move(operation)); }),
      lines_({.options = options,
              .nodes = nodes,
              .operations = operations_,
              .leaders = leaders_,
              .backoff = backoff_,
              .statistics = statistics_,
              .send = [this](std::uint64_t id, Operation& operation) { send(id, operation); },
              .submit = [this](OperationPtr operation) { submit(std::move(operation)); }}) {}

void Dispatcher::submit(OperationPtr operation) {
  Operation& submitted = *operation;
  places_.locate(submitted);
  const std::uint64_t id = operations_.add(std::move(operation));
  if (submitted.stop != nullptr) {
    submitted.stop->request_id = id;
  }
  begin(id, submitted);
}

void Dispatcher::begin(std::uint64_t id, Operation& operation) {
  if (operation.session != nullptr) {
    SessionRecord& session = *operation.session;
    if (session.ended.load(std::memory_order_relaxed)) {
      return fail(id, failure(session.end_reason));
    }
    if (operation.numbered()) {
      auto& window = session.windows.of(operation.slot.shard);
      if (window.numbers.full()) {
        operation.phase = OperationPhase::Behind;
        window.behind.push_back(id);
        return schedule(operation);
      }
      operation.slot.sequence = window.numbers.begin();
    }
  }
  send(id, operation);
}

// A wait, whose answer may never come, is no probe of a node whose breaker is not closed.
NodeId Dispatcher::choose(const Operation& operation) {
  if (operation.lines_up()) {
    const NodeId leader = leaders_.leader(ShardId{operation.slot.shard});
    return nodes_.closed(leader) ? leader : nodes_.any_closed();
  }
  if (operation.target == Target::OneNode) {
    return nodes_.ready(operation.node) != nullptr ? operation.node : NodeId{};
  }
  if (operation.target == Target::ShardLeader) {
    const NodeId leader = leaders_.leader(ShardId{operation.slot.shard});
    if (nodes_.admits(leader)) {
      return leader;
    }
  }
  return nodes_.any_admitting();
}

// No node may be asked now: until one is connected, a breaker closes or a probe is due.
void Dispatcher::park(std::uint64_t id, Operation& operation) {
  if (fails_fast(operation)) {
    return give_up(id, operation, failure(protocol::ErrorCode::CircuitOpen, nodes_.evidence()));
  }
  operation.phase = OperationPhase::Parked;
  operation.retry_at = operation.target == Target::OneNode ? kTimeNever : nodes_.next_probe();
  schedule(operation);
}

// Who waits for a lock has time for a probe, and what gives something back is lost on nobody.
bool Dispatcher::fails_fast(const Operation& operation) const {
  return options_.fail_fast && operation.target != Target::OneNode && !operation.waits() &&
         !operation.gives_back() && nodes_.all_open();
}

void Dispatcher::send(std::uint64_t id, Operation& operation) {
  const NodeId node = choose(operation);
  if (node == NodeId{}) {
    const bool patient = operation.waits_for_node;
    if (operation.target == Target::OneNode && nodes_.failed(operation.node) && !patient) {
      return fail(id, nodes_.why_silent(operation.node));
    }
    if (operation.lines_up() && nodes_.any_admitting() != NodeId{}) {
      return stand_in_line(id, operation);
    }
    return park(id, operation);
  }
  Connection& connection = *nodes_.ready(node);
  if (operation.secret && !nodes_.access().login->may_go_over(connection.privacy())) {
    return fail(
        id,
        failure(protocol::ErrorCode::CredentialsExposed,
                "node " + std::to_string(node.value) + " is reached in plain TCP beyond loopback"));
  }
  nodes_.on_request(node);
  const TimePoint now = options_.clock->now();
  operation.phase = OperationPhase::Sent;
  operation.sent.to = node;
  operation.sent.at = now;
  operation.sent.look_at = now + TimePoint{options_.request_timeout} / 3;
  ++operation.tries.sent_count;
  ++statistics_.requests;
  protocol::RequestSlot slot = slot_to_send(id, operation, now);
  // Asked of this very node: while a cluster is renewed, another one may not know the flag.
  if (may_tell_broken(slot.kind) && nodes_.has(node, protocol::Feature::LockForce)) {
    slot.set(protocol::RequestFlag::TellBroken);
  }
  if (operation.registers() && nodes_.has(node, protocol::Feature::NamedTerms)) {
    leaders_.name_term(slot);
  }
  connection.send(slot, protocol::bytes_of(operation.payload));
  schedule(operation);
}

protocol::RequestSlot Dispatcher::slot_to_send(std::uint64_t id,
                                               const Operation& operation,
                                               TimePoint now) const {
  protocol::RequestSlot slot = operation.slot;
  slot.request_id = id;
  slot.deadline_ms =
      milliseconds_until(operation.waits() ? operation.wait_until : operation.deadline, now);
  const auto features = nodes_.cluster()->features;
  if (operation.numbered() &&
      (features & static_cast<std::uint64_t>(protocol::Feature::Sessions)) != 0) {
    slot.set(protocol::RequestFlag::WriteIndex);
  }
  if (operation.session != nullptr) {
    // A cancel repeats its acquire's number and acknowledges no more than that one did.
    slot.acked_below =
        std::min(operation.session->windows.of(slot.shard).numbers.acked_below(), slot.sequence);
  }
  return slot;
}

void Dispatcher::on_reply(NodeId node,
                          const protocol::ReplySlot& slot,
                          std::span<const std::byte> payload) {
  Operation* operation = operations_.find(slot.request_id);
  const bool awaited = operation != nullptr && operation->phase == OperationPhase::Sent &&
                       operation->sent.to == node;
  if (!awaited) {
    return;  // Given up, or sent elsewhere meanwhile: that answer will say the same.
  }
  if (static_cast<protocol::ErrorCode>(slot.detail) == protocol::ErrorCode::Overloaded) {
    nodes_.on_request_failed(node, std::string{protocol::find_error(slot.detail)->cause});
    return take_reply(node, *operation, slot, payload);
  }
  const bool closed = nodes_.on_answer(node);
  take_reply(node, *operation, slot, payload);
  if (closed) {
    on_ready(node);
  }
}

void Dispatcher::take_reply(NodeId node,
                            Operation& operation,
                            const protocol::ReplySlot& slot,
                            std::span<const std::byte> payload) {
  if (slot.kind != operation.slot.kind) {
    return fail(slot.request_id, failure(protocol::ErrorCode::ReplyMalformed));
  }
  // Of others than leaders `shard` is no shard, or the term is one that the node has heard of.
  if (operation.target == Target::ShardLeader) {
    leaders_.learn_term(ShardId{operation.slot.shard}, Term{slot.epoch});
  }
  Status status = status_of(slot, payload);
  if (is_trouble(status)) {
    status = Status{status.code(),
                    status.message() + request_text(node, nodes_.ready(node), slot.request_id),
                    status.detail()};
  }
  if (!status.ok()) {
    return on_failure(slot.request_id, operation, slot, std::move(status));
  }
  backoff_.on_success();
  if (operation.target == Target::ShardLeader) {
    leaders_.learn(ShardId{operation.slot.shard}, node);
  }
  if (is_being_released(operations_, operation, slot)) {
    return ask_anew(slot.request_id,
                    operation,
                    failure(protocol::ErrorCode::ConnectionLost, "a release of it is under way"));
  }
  complete(slot.request_id, Answer{{}, slot, payload});
}

void Dispatcher::on_failure(std::uint64_t id,
                            Operation& operation,
                            const protocol::ReplySlot& slot,
                            Status status) {
  const auto code = static_cast<protocol::ErrorCode>(slot.detail);
  const bool forgotten = code == protocol::ErrorCode::SequenceForgotten ||
                         code == protocol::ErrorCode::SequenceAcknowledged;
  if (operation.try_once) {
    return complete(id, Answer{std::move(status), slot, {}});
  }
  if (code == protocol::ErrorCode::NotLeader || asks_a_witness(operation, code)) {
    return redirect(id, operation, NodeId{slot.leader}, std::move(status));
  }
  if (code == protocol::ErrorCode::LockMoved && places_.follows(operation, slot)) {
    return follow(id, operation, ShardId{static_cast<std::uint32_t>(slot.extra)}, status);
  }
  if (code == protocol::ErrorCode::LockMoving && places_.doubts(operation)) {
    places_.forget(operation.name_hash);
    go_to(operation, places_.home(operation.name_hash));
    return begin(id, operation);
  }
  // Nothing was done, and the term to name is known now.
  if (code == protocol::ErrorCode::TermStale && operation.tries.redirects < kRedirectsMax) {
    ++operation.tries.redirects;
    leaders_.learn(ShardId{operation.slot.shard}, operation.sent.to);
    return send(id, operation);
  }
  if (replaced_by_copy(operation, code)) {
    --operation.tries.copies;
    return send_anew(id, operation);
  }
  if (protocol::is_passing(code)) {
    operation.tries.outcome_unknown =
        operation.tries.outcome_unknown || code == protocol::ErrorCode::ProposalDropped;
    Status why =
        code == protocol::ErrorCode::NoLeader ? why_no_leader(operation) : std::move(status);
    const bool lined = operation.lines_up() && refuses_shard(code);
    if (code == protocol::ErrorCode::RateExceeded) {
      retry(id, operation, std::move(why));
      return rest_as_long_as_said(operation, slot.extra);
    }
    if (!lined || code != protocol::ErrorCode::Overloaded) {
      leaders_.forget(ShardId{operation.slot.shard});
    }
    return lined ? rest_in_line(id, operation, std::move(why))
                 : retry(id, operation, std::move(why));
  }
  if (forgotten && operation.numbered() && !operation.counted && operation.tries.sent_count > 1) {
    return renumber(id, operation, std::move(status));
  }
  if (released_before(operation, code)) {
    return complete(id, Answer{{}, slot, {}});
  }
  if (operation.takes_back && !ends_wait(code)) {
    return ask_anew(id, operation, std::move(status));
  }
  if (operation.may_leave_place() && !ends_wait(code)) {
    withdrawals_.take_back_moved(operation, std::string{operation.name()});
  }
  const auto session = operation.session;
  complete(id, Answer{std::move(status), slot, {}});
  if (code == protocol::ErrorCode::SessionExpired && session != nullptr) {
    on_session_lost_(session);
  }
}

// Leaves the shard for another one, where it will have another number: here nothing was done.
void Dispatcher::go_to(Operation& operation, ShardId shard) {
  const std::uint32_t from = operation.slot.shard;
  places_.address(operation, shard);
  const std::uint64_t sequence = std::exchange(operation.slot.sequence, 0);
  if (operation.session != nullptr && sequence != 0) {
    end_number(*operation.session, from, sequence);
  }
}

// Asks for the lock where it has gone. A lock is never further from the shard of its name than one
// move.
void Dispatcher::follow(std::uint64_t id, Operation& operation, ShardId to, Status status) {
  places_.learn(operation.name_hash, to);
  operation.tries.last_failure = std::move(status);
  ++operation.tries.moves;
  ++operation.tries.moves_at_once;
  ++statistics_.moves;
  go_to(operation, to);
  if (operation.tries.moves_at_once > kMovesAtOnceMax) {
    return retry(id, operation, failure(protocol::ErrorCode::LockMoving));
  }
  begin(id, operation);
}

void Dispatcher::redirect(std::uint64_t id, Operation& operation, NodeId leader, Status status) {
  const ShardId shard{operation.slot.shard};
  const bool useful = operation.target == Target::ShardLeader && leader != operation.sent.to &&
                      nodes_.admits(leader) && operation.tries.redirects < kRedirectsMax;
  if (leader != NodeId{} && !nodes_.knows(leader)) {
    nodes_.known().want();
  }
  if (!useful) {
    // It leads no more, or cannot be reached from here: let the nodes find out.
    leaders_.forget(shard);
    const bool asked_leader = operation.target == Target::ShardLeader;
    Status why = asked_leader ? why_no_leader(operation) : std::move(status);
    return operation.lines_up() ? rest_in_line(id, operation, std::move(why))
                                : retry(id, operation, std::move(why));
  }
  leaders_.learn(shard, leader);
  ++operation.tries.redirects;
  ++statistics_.redirects;
  send_anew(id, operation);
}

// Again what was sent before, or found no node; a wait in the line of its shard.
void Dispatcher::send_anew(std::uint64_t id, Operation& operation) {
  if (operation.lines_up()) {
    return stand_in_line(id, operation);
  }
  send(id, operation);
}

// To be sent again when its turn comes, which may be now.
void Dispatcher::stand_in_line(std::uint64_t id, Operation& operation) {
  lines_.join(id, operation);
  schedule(operation);
}

// The same after a refusal: the line rests before it goes on.
void Dispatcher::rest_in_line(std::uint64_t id, Operation& operation, Status status) {
  lines_.join_refused(id, operation, std::move(status));
  schedule(operation);
}

void Dispatcher::resume(std::uint64_t id, Operation& operation) {
  if (operation.numbered() && operation.slot.sequence == 0) {
    return begin(id, operation);
  }
  send(id, operation);
}

void Dispatcher::retry(std::uint64_t id, Operation& operation, Status status) {
  static_cast<void>(id);
  operation.tries.last_failure = std::move(status);
  operation.phase = OperationPhase::Backoff;
  operation.retry_at = options_.clock->now() + backoff_.delay(operation.tries.attempt);
  operation.tries.redirects = 0;
  operation.tries.moves_at_once = 0;
  ++operation.tries.attempt;
  ++statistics_.retries;
  schedule(operation);
}

void Dispatcher::rest_as_long_as_said(Operation& operation, std::uint64_t wait_ms) {
  constexpr std::uint64_t kWaitMsMax = 60'000;
  const std::chrono::milliseconds wait{std::min(wait_ms, kWaitMsMax)};
  operation.retry_at = std::max(operation.retry_at, options_.clock->now() + wait);
  schedule(operation);
}

// What the shard decided it decided under that number for good.
void Dispatcher::ask_anew(std::uint64_t id, Operation& operation, Status status) {
  const std::uint64_t sequence = std::exchange(operation.slot.sequence, 0);
  if (sequence != 0) {
    end_number(*operation.session, operation.slot.shard, sequence);
  }
  retry(id, operation, std::move(status));
}

void Dispatcher::renumber(std::uint64_t id, Operation& operation, Status status) {
  // The shard cannot say any more what came of it. Asking anew is safe: an acquire that had been
  // granted answers "already held" with its token, a release that had been done "not held".
  const std::uint64_t sequence = std::exchange(operation.slot.sequence, 0);
  const bool again = std::exchange(operation.tries.renumbered, true);
  end_number(*operation.session, operation.slot.shard, sequence);
  if (again) {
    // Somebody else numbers this session's requests too, so the next number may be refused as well.
    return retry(id, operation, std::move(status));
  }
  operation.tries.last_failure = std::move(status);
  begin(id, operation);
}

void Dispatcher::on_ready(NodeId node) {
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    const bool suits = operation.target != Target::OneNode || operation.node == node;
    if (operation.phase == OperationPhase::Parked && suits) {
      send_anew(id, operation);
    }
  });
}

void Dispatcher::on_lost(NodeId node, const std::string& reason) {
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    if (operation.phase != OperationPhase::Sent || operation.sent.to != node) {
      return;
    }
    Status lost = failure(protocol::ErrorCode::ConnectionLost, reason);
    if (operation.try_once || operation.target == Target::OneNode) {
      return fail(id, std::move(lost));
    }
    operation.tries.outcome_unknown = true;
    ++operation.tries.copies;
    operation.tries.last_failure = std::move(lost);
    ++statistics_.retries;
    send_anew(id, operation);
  });
}

void Dispatcher::on_failed(NodeId node) {
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    const bool hopeless = operation.phase == OperationPhase::Parked &&
                          operation.target == Target::OneNode && operation.node == node &&
                          !operation.waits_for_node;
    if (hopeless) {
      return fail(id, nodes_.why_silent(node));
    }
    if (operation.phase == OperationPhase::Parked && fails_fast(operation)) {
      give_up(id, operation, failure(protocol::ErrorCode::CircuitOpen, nodes_.evidence()));
    }
  });
}

void Dispatcher::complete(std::uint64_t id, const Answer& answer) {
  const OperationPtr operation = operations_.take(id);
  GCOORD_ASSERT(operation != nullptr);
  if (operation->session != nullptr && operation->slot.sequence != 0) {
    end_number(*operation->session, operation->slot.shard, operation->slot.sequence);
  }
  if (operation->callback) {
    operation->callback(answer);
  }
}

void Dispatcher::fail(std::uint64_t id, Status status) {
  complete(id, Answer{std::move(status), {}, {}});
}

void Dispatcher::end_number(SessionRecord& session, std::uint32_t shard, std::uint64_t sequence) {
  auto& window = session.windows.of(shard);
  window.numbers.end(sequence);
  while (!window.behind.empty() && !window.numbers.full()) {
    const std::uint64_t id = window.behind.front();
    window.behind.pop_front();
    if (Operation* operation = operations_.find(id)) {
      return begin(id, *operation);  // One number came free, so one may begin.
    }
  }
}

}  // namespace gcoord::client
