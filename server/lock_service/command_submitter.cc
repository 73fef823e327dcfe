#include "server/lock_service/command_submitter.h"

#include "protocol/lease_messages.h"

namespace gcoord::server {

using protocol::ErrorCode;

namespace {

ErrorCode error_of_limit(locks::LockLimit limit) {
  switch (limit) {
    case locks::LockLimit::Locks:
      return ErrorCode::LocksExhausted;
    case locks::LockLimit::Waiters:
      return ErrorCode::WaitersExhausted;
    case locks::LockLimit::Sessions:
      return ErrorCode::SessionsExhausted;
    case locks::LockLimit::Requests:
      return ErrorCode::RepliesExhausted;
    case locks::LockLimit::None:
      break;
  }
  return ErrorCode::None;
}

// An acquire, or a grant, that was sent twice may come once more behind the end of its session. It
// would register the session anew, and hold the lock for nobody until that is ended in turn. Ids
// that clients choose may come again.
bool is_over(const locks::LockCpu& locks, SessionId session) {
  return session.value >= protocol::kSessionIdChosenEnd && locks.clock().remembers_expired(session);
}

// Whether it may register its session: with an acquire or a request of a group, or alone.
bool registers(const locks::LockCommand& command) {
  return command.kind == locks::LockCommandKind::Acquire ||
         command.kind == locks::LockCommandKind::RegisterSession ||
         (command.kind == locks::LockCommandKind::GroupRequest && command.ttl_ms != 0);
}

}  // namespace

// What this node remembers of sessions that are over it remembers since it started, and it has led
// in this term no longer than that. So a copy that was sent in this term finds the memory, and one
// that is older names another term.
bool CommandSubmitter::names_other_term(const protocol::RequestSlot& request, ShardId shard) const {
  return request.has(protocol::RequestFlag::NamesTerm) &&
         Term{request.token} != env_.leaders.term(shard);
}

// Its client gave it up before it came: executed now it would be granted to nobody. If it is known
// it has come before, and the log repeats the answer.
bool CommandSubmitter::comes_too_late(ShardId shard, const locks::LockCommand& command) const {
  return command.kind == locks::LockCommandKind::Acquire &&
         env_.admission.is_withdrawn({shard, command.session, command.sequence}) &&
         !env_.locks.knows_request(shard, command.session, command.sequence);
}

// Whether the tables have entries of the shard that nobody was answered for yet.
bool CommandSubmitter::is_ahead(ShardId shard) const {
  return env_.locks.view(shard).applied(shard) > env_.log.view(shard).applied;
}

void CommandSubmitter::submit(const ClientRequest& request,
                              ShardId shard,
                              const locks::LockCommand& command) {
  if (!env_.leaders.leads(shard)) {
    return env_.replies.redirect(request, env_.leaders.leader(shard), env_.leaders.term(shard));
  }
  if (command.kind != locks::LockCommandKind::CancelWait &&
      env_.locator.is_arriving(request.slot, shard, command.name_hash)) {
    return env_.replies.refuse(request, ErrorCode::LockMoving);
  }
  if (registers(command) && env_.admission.is_closed(command.session)) {
    return env_.replies.refuse(request, ErrorCode::SessionClosed);
  }
  if (registers(command) && is_over(env_.locks, command.session)) {
    return env_.replies.refuse(request, ErrorCode::SessionExpired);
  }
  if (command.kind == locks::LockCommandKind::CancelWait) {
    env_.admission.note_withdrawn({shard, command.session, command.sequence});
  }
  if (comes_too_late(shard, command)) {
    return env_.replies.refuse(request, ErrorCode::WaitCancelled);
  }
  Pending pending;
  pending.kind = PendingKind::Request;
  pending.connection = request.connection;
  pending.started_us = env_.clock.now_us;
  pending.request = request.slot;
  const bool counted = command.kind == locks::LockCommandKind::Acquire;
  // Where the tables are ahead, the wait may be one that is yet to be bound to the connection that
  // asked first: the log has both in order.
  if (counted && env_.locks.stands_in_line(shard, command) && !is_ahead(shard)) {
    return env_.outcomes.rebind_wait(pending, shard);
  }
  if (registers(command) && names_other_term(request.slot, shard)) {
    return env_.replies.refuse_term(request, env_.leaders.term(shard));
  }
  if (!env_.admission.space().takes(shard, command, env_.locks)) {
    return env_.replies.refuse(request, ErrorCode::DiskLow);
  }
  const ErrorCode error = error_of_limit(env_.locks.would_exceed(shard, command));
  if (error != ErrorCode::None) {
    return env_.replies.refuse(request, error);
  }
  if (counted && !env_.admission.admit(command.session)) {
    return env_.replies.refuse(request, ErrorCode::SessionLocksExhausted);
  }
  env_.log.propose_for(request, shard, command, pending);
}

}  // namespace gcoord::server
