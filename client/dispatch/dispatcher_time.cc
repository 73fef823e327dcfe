// Deadlines, retries that are due, nodes that say nothing, and the end of sessions.
#include "client/dispatch/dispatcher.h"
#include "client/net/failure.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {
namespace {

// Whether its session may yet be granted something by it.
bool may_register(const Operation& operation) {
  const bool sent =
      operation.acquires() && (operation.tries.sent_count > 0 || operation.takes_back);
  return sent || operation.slot.kind == protocol::RequestKind::LockCancel;
}

}  // namespace

void Dispatcher::advance(TimePoint now) {
  lines_.advance(now);
  if (now < next_event_) {
    return;
  }
  // A walk over all that is outstanding. It happens at most once per deadline that comes near, and
  // answered operations have left the table by then, so a steady stream costs one walk in seconds.
  next_event_ = kTimeNever;
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    if (now >= operation.deadline) {
      return on_deadline(id, operation);
    }
    const bool rests =
        operation.phase == OperationPhase::Backoff || operation.phase == OperationPhase::Parked;
    if (rests && now >= operation.retry_at) {
      return resume(id, operation);
    }
    if (operation.phase == OperationPhase::Sent && !operation.waits() &&
        now >= operation.sent.look_at) {
      look_at_node(operation, now);
    }
    schedule(operation);
  });
}

void Dispatcher::look_at_node(Operation& operation, TimePoint now) {
  operation.sent.look_at = now + TimePoint{options_.request_timeout} / 3;
  Connection* connection = nodes_.ready(operation.sent.to);
  if (connection != nullptr && connection->last_received() <= operation.sent.at) {
    // Not slow but silent: nothing came since. Everything outstanding there goes elsewhere.
    connection->close("sent nothing since the request");
  }
}

void Dispatcher::on_deadline(std::uint64_t id, Operation& operation) {
  if (operation.phase == OperationPhase::Sent) {
    nodes_.on_request_failed(operation.sent.to, "did not answer by a deadline");
  }
  give_up(id, operation, why_late(operation));
}

// Ends it without an answer, and takes back what it may have been granted all the same.
void Dispatcher::give_up(std::uint64_t id, Operation& operation, Status why) {
  const bool may_be_granted =
      operation.acquires() && operation.tries.sent_count > 0 && operation.slot.sequence != 0;
  if (!may_be_granted) {
    // Nobody else notices when a session that is not kept alive from here has ended.
    if (operation.may_leave_place() && (!operation.takes_back || operation.session->keep_alive)) {
      withdrawals_.take_back_moved(operation, std::string{operation.name()});
    }
    return fail(id, std::move(why));
  }
  // Its number stays taken until the cancel that bears it is answered.
  const OperationPtr acquire = operations_.take(id);
  withdrawals_.take_back(*acquire);
  acquire->callback(Answer{std::move(why), {}, {}});
}

Status Dispatcher::why_late(const Operation& operation) const {
  if (nodes_.ready_count() == 0) {
    return failure(protocol::ErrorCode::Unreachable, nodes_.evidence());
  }
  if (operation.phase != OperationPhase::Sent && !operation.tries.last_failure.ok()) {
    return operation.tries.last_failure;
  }
  if (operation.phase == OperationPhase::Behind) {
    return failure(protocol::ErrorCode::SessionWindowFull);
  }
  if (operation.phase == OperationPhase::Parked && operation.target != Target::OneNode) {
    return failure(protocol::ErrorCode::CircuitOpen, nodes_.evidence());
  }
  if (operation.phase == OperationPhase::InLine) {
    return why_no_leader(operation);
  }
  std::string evidence = "node " + std::to_string(operation.sent.to.value) + " did not answer";
  if (!operation.tries.last_failure.ok()) {
    evidence += "; before that: " + operation.tries.last_failure.message();
  }
  return failure(protocol::ErrorCode::DeadlineExceeded, evidence);
}

// "Ask the leader" is no advice to who could not find one that answers.
Status Dispatcher::why_no_leader(const Operation& operation) const {
  return failure(protocol::ErrorCode::NoLeader,
                 "shard " + std::to_string(operation.slot.shard) + "; " + reachable(nodes_));
}

void Dispatcher::stop_wait(std::uint64_t id) {
  if (Operation* acquire = operations_.find(id)) {
    give_up(id, *acquire, failure(protocol::ErrorCode::WaitCancelled));
  }
}

std::set<std::uint32_t> Dispatcher::acquiring_shards(const SessionRecord& session) {
  std::set<std::uint32_t> shards;
  if (session.operation_count == 0) {  // Thousands may be closed while thousands are under way.
    return shards;
  }
  operations_.for_each([&](std::uint64_t, const Operation& operation) {
    if (operation.session.get() == &session && may_register(operation)) {
      shards.insert(operation.slot.shard);
    }
  });
  return shards;
}

std::map<const SessionRecord*, std::set<std::uint32_t>> Dispatcher::acquiring_shards() {
  std::map<const SessionRecord*, std::set<std::uint32_t>> shards;
  operations_.for_each([&](std::uint64_t, const Operation& operation) {
    if (operation.session != nullptr && may_register(operation)) {
      shards[operation.session.get()].insert(operation.slot.shard);
    }
  });
  return shards;
}

void Dispatcher::fail_session(const SessionRecord& session, protocol::ErrorCode code) {
  if (session.operation_count == 0) {
    return;
  }
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    if (operation.session.get() == &session) {
      fail(id, why_ended(operation, code));
    }
  });
}

// An acquire that found no leader until its session ran out lost nothing: it lacked a quorum.
Status Dispatcher::why_ended(const Operation& operation, protocol::ErrorCode code) const {
  const SessionLease* const lease = operation.session->lease.get();
  const bool ran_out =
      code == protocol::ErrorCode::SessionExpired && lease != nullptr && !lease->told_lost();
  if (!ran_out || !operation.acquires()) {
    return failure(code);
  }
  const bool queued = operation.phase == OperationPhase::Sent && operation.waits();
  const bool refused = !queued && !operation.tries.last_failure.ok();
  return !nodes_.has_majority() || refused ? why_no_leader(operation) : failure(code);
}

void Dispatcher::fail_all(protocol::ErrorCode code, Spare spare) {
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    const bool release = operation.slot.kind == protocol::RequestKind::LockRelease ||
                         operation.slot.kind == protocol::RequestKind::LockCancel ||
                         operation.slot.kind == protocol::RequestKind::CloseSession;
    if (spare == Spare::Nothing || !release) {
      fail(id, failure(code));
    }
  });
}

}  // namespace gcoord::client
