// Deadlines, retries that are due, nodes that say nothing, and the end of sessions.
#include "client/core/dispatcher.h"
#include "client/net/failure.h"
#include "protocol/lock_messages.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {

TimePoint Dispatcher::due(const Operation& operation) {
  switch (operation.phase) {
    case OperationPhase::Backoff:
    case OperationPhase::Parked:
      return std::min(operation.deadline, operation.retry_at);
    case OperationPhase::Sent:
      return operation.waits() ? operation.deadline
                               : std::min(operation.deadline, operation.look_at);
    case OperationPhase::Behind:
    case OperationPhase::InLine:
      break;
  }
  return operation.deadline;
}

void Dispatcher::advance(TimePoint now) {
  advance_lines(now);
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
    if (operation.phase == OperationPhase::Sent && !operation.waits() && now >= operation.look_at) {
      look_at_node(operation, now);
    }
    schedule(operation);
  });
}

void Dispatcher::look_at_node(Operation& operation, TimePoint now) {
  operation.look_at = now + TimePoint{options_.request_timeout} / 3;
  Connection* connection = nodes_.ready(operation.sent_to);
  if (connection != nullptr && connection->last_received() <= operation.sent_at) {
    // Not slow but silent: nothing came since. Everything outstanding there goes elsewhere.
    connection->close("sent nothing since the request");
  }
}

void Dispatcher::on_deadline(std::uint64_t id, Operation& operation) {
  if (operation.phase == OperationPhase::Sent) {
    nodes_.on_request_failed(operation.sent_to, "did not answer by a deadline");
  }
  give_up(id, operation, why_late(operation));
}

// Ends it without an answer, and takes back what it may have been granted all the same.
void Dispatcher::give_up(std::uint64_t id, Operation& operation, Status why) {
  const bool may_be_granted =
      operation.acquires() && operation.sent_count > 0 && operation.slot.sequence != 0;
  if (!may_be_granted) {
    // Nobody else notices when a session that is not kept alive from here has ended.
    if (operation.may_leave_place() && (!operation.takes_back || operation.session->keep_alive)) {
      take_back_moved(operation, std::string{operation.name()});
    }
    return fail(id, std::move(why));
  }
  // Its number stays taken until the cancel that bears it is answered.
  const OperationPtr acquire = operations_.take(id);
  take_back(*acquire);
  acquire->callback(Answer{std::move(why), {}, {}});
}

void Dispatcher::take_back(const Operation& acquire) {
  auto cancel = std::make_unique<Operation>();
  cancel->slot.kind = protocol::RequestKind::LockCancel;
  cancel->slot.shard = acquire.slot.shard;
  if (acquire.slot.has(protocol::RequestFlag::Moved)) {
    cancel->slot.set(protocol::RequestFlag::Moved);
  }
  cancel->name_hash = acquire.name_hash;
  cancel->slot.session = acquire.slot.session;
  cancel->slot.sequence = acquire.slot.sequence;
  cancel->payload = acquire.name();
  cancel->session = acquire.session;
  // After the TTL without an answer the session is over anyway, and the lock with it.
  cancel->deadline = options_.clock->now() + std::chrono::milliseconds{acquire.session->ttl_ms};
  const auto session = acquire.session;
  const std::string name = cancel->payload;
  // What the callback needs of the operation that it is of.
  Operation like;
  like.slot = cancel->slot;
  like.session = session;
  like.name_hash = cancel->name_hash;
  like.deadline = cancel->deadline;
  like.takes_back = acquire.may_leave_place();
  cancel->callback = [this, like = std::move(like), name](const Answer& answer) {
    on_cancelled(like, name, answer);
  };
  submit(std::move(cancel));
}

void Dispatcher::on_cancelled(const Operation& cancel,
                              const std::string& name,
                              const Answer& answer) {
  const auto code = static_cast<protocol::ErrorCode>(answer.status.detail());
  if (code == protocol::ErrorCode::AcquireGranted) {
    if (!answer.slot.has(protocol::ReplyFlag::AlreadyHeld)) {
      release_late(cancel, name, answer.slot.token);
    }  // Else the lock was the session's before and stays so.
    return;
  }
  const bool moved = code == protocol::ErrorCode::LockMoved;
  if (moved && answer.slot.extra < nodes_.cluster()->shard_count) {
    learn_place(cancel.name_hash, ShardId{static_cast<std::uint32_t>(answer.slot.extra)});
  }
  // That nothing waited there under this number does not say that nothing waits, or will: the place
  // of a wait that moved comes under another number, and perhaps after the cancel.
  const bool answered = answer.slot.kind == protocol::RequestKind::LockCancel;
  const bool lives =
      code != protocol::ErrorCode::SessionExpired && code != protocol::ErrorCode::SessionClosed;
  if (answered && lives && (moved || cancel.takes_back)) {
    take_back_moved(cancel, name);
  }
}

void Dispatcher::release_late(const Operation& cancel,
                              const std::string& name,
                              std::uint64_t token) {
  auto release = std::make_unique<Operation>();
  release->slot.kind = protocol::RequestKind::LockRelease;
  release->slot.shard = shard_of(cancel.name_hash, nodes_.cluster()->shard_count).value;
  release->slot.session = cancel.slot.session;
  release->slot.token = token;
  release->name_hash = cancel.name_hash;
  release->payload = name;
  release->session = cancel.session;
  // The first of several holds is none that is held again.
  release->counted = cancel.session->counts_holds.load(std::memory_order_relaxed);
  release->deadline = cancel.deadline;
  submit(std::move(release));
}

// The wait went with its lock. Whoever asks for the lock there has the wait's place, and gives it
// up when its own time is over, which is at once.
void Dispatcher::take_back_moved(const Operation& given_up, const std::string& name) {
  const TimePoint now = options_.clock->now();
  auto acquire = std::make_unique<Operation>();
  acquire->slot.kind = protocol::RequestKind::LockAcquire;
  acquire->slot.shard = shard_of(given_up.name_hash, nodes_.cluster()->shard_count).value;
  acquire->slot.session = given_up.slot.session;
  acquire->slot.ttl_ms = given_up.session->ttl_ms;
  acquire->slot.set(protocol::RequestFlag::Wait);
  acquire->name_hash = given_up.name_hash;
  acquire->payload = name;
  acquire->session = given_up.session;
  acquire->takes_back = true;
  acquire->wait_until = now;
  acquire->deadline = now + std::chrono::milliseconds{given_up.session->ttl_ms};
  Operation like;
  like.slot = acquire->slot;
  like.session = acquire->session;
  like.name_hash = acquire->name_hash;
  like.deadline = acquire->deadline;
  acquire->callback = [this, like = std::move(like), name](const Answer& answer) {
    if (answer.status.ok() && !answer.slot.has(protocol::ReplyFlag::AlreadyHeld)) {
      release_late(like, name, answer.slot.token);
    }
  };
  submit(std::move(acquire));
}

Status Dispatcher::why_late(const Operation& operation) const {
  if (nodes_.ready_count() == 0) {
    return failure(protocol::ErrorCode::Unreachable, nodes_.evidence());
  }
  if (operation.phase != OperationPhase::Sent && !operation.last_failure.ok()) {
    return operation.last_failure;
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
  std::string evidence = "node " + std::to_string(operation.sent_to.value) + " did not answer";
  if (!operation.last_failure.ok()) {
    evidence += "; before that: " + operation.last_failure.message();
  }
  return failure(protocol::ErrorCode::DeadlineExceeded, evidence);
}

// "Ask the leader" is no advice to who could not find one that answers.
Status Dispatcher::why_no_leader(const Operation& operation) const {
  const std::size_t node_count = nodes_.cluster()->nodes.size();
  return failure(protocol::ErrorCode::NoLeader,
                 "shard " + std::to_string(operation.slot.shard) + "; " +
                     std::to_string(nodes_.ready_count()) + " of " + std::to_string(node_count) +
                     " nodes can be reached");
}

std::set<std::uint32_t> Dispatcher::acquiring_shards(const SessionRecord& session) {
  std::set<std::uint32_t> shards;
  if (session.operation_count == 0) {  // Thousands may be closed while thousands are under way.
    return shards;
  }
  operations_.for_each([&](std::uint64_t, const Operation& operation) {
    const bool sent = operation.acquires() && (operation.sent_count > 0 || operation.takes_back);
    const bool cancel = operation.slot.kind == protocol::RequestKind::LockCancel;
    if (operation.session.get() == &session && (sent || cancel)) {
      shards.insert(operation.slot.shard);
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
      fail(id, failure(code));
    }
  });
}

void Dispatcher::fail_all(protocol::ErrorCode code, Spare spare) {
  operations_.for_each([&](std::uint64_t id, Operation& operation) {
    const bool release = operation.slot.kind == protocol::RequestKind::LockRelease ||
                         operation.slot.kind == protocol::RequestKind::CloseSession;
    if (spare == Spare::Nothing || !release) {
      fail(id, failure(code));
    }
  });
}

}  // namespace gcoord::client
