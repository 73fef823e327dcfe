#include "server/lock_replies.h"

#include "rpc/lease_messages.h"

namespace gcoord::server {

using locks::LockCode;
using rpc::ErrorCode;

namespace {

// Of the codes of locks/lock_move.h. What is no answer to a client never gets here.
rpc::ErrorCode error_of_move(LockCode code) {
  switch (code) {
    case LockCode::Moved:
      return ErrorCode::LockMoved;
    case LockCode::MoveNotPlain:
      return ErrorCode::MoveNotPlain;
    case LockCode::MoveCrowded:
      return ErrorCode::MoveCrowded;
    default:
      return ErrorCode::SlotInvalid;
  }
}

// Of the codes that are about a session or its numbers.
rpc::ErrorCode error_of_session(LockCode code) {
  switch (code) {
    case LockCode::SessionUnknown:
      return ErrorCode::SessionUnknown;
    case LockCode::SessionExpired:
      return ErrorCode::SessionExpired;
    case LockCode::SessionClosed:
      return ErrorCode::SessionClosed;
    case LockCode::SequenceStale:
      return ErrorCode::SequenceAcknowledged;
    case LockCode::SequenceForgotten:
      return ErrorCode::SequenceForgotten;
    case LockCode::SequenceAhead:
      return ErrorCode::SequenceTooFar;
    case LockCode::SequenceReused:
      return ErrorCode::SequenceReused;
    case LockCode::WindowFull:
      return ErrorCode::SessionWindowFull;
    default:
      return ErrorCode::SlotInvalid;
  }
}

}  // namespace

rpc::ErrorCode error_of(LockCode code) {
  switch (code) {
    case LockCode::Granted:
    case LockCode::AlreadyHeld:
    case LockCode::HeldAgain:
    case LockCode::Downgraded:
    case LockCode::Proclaimed:
    case LockCode::Transferred:
    case LockCode::Released:
    case LockCode::HoldReturned:
    case LockCode::SessionRegistered:
    case LockCode::Waiting:
    case LockCode::Noop:
    case LockCode::Broken:
    case LockCode::DelayEnded:
    case LockCode::SessionsEnded:
      return ErrorCode::None;
    case LockCode::Busy:
      return ErrorCode::LockBusy;
    case LockCode::NotHolder:
      return ErrorCode::HolderOther;
    case LockCode::StaleToken:
      return ErrorCode::TokenStale;
    case LockCode::NotHeld:
      return ErrorCode::LockNotHeld;
    case LockCode::WaitTimedOut:
      return ErrorCode::WaitTimedOut;
    case LockCode::WaitCancelled:
      return ErrorCode::WaitCancelled;
    case LockCode::Deadlock:
      return ErrorCode::Deadlock;
    case LockCode::NotWaiting:
      return ErrorCode::WaitUnknown;
    case LockCode::SessionUnknown:
    case LockCode::SessionExpired:
    case LockCode::SessionClosed:
    case LockCode::SequenceStale:
    case LockCode::SequenceForgotten:
    case LockCode::SequenceAhead:
    case LockCode::SequenceReused:
    case LockCode::WindowFull:
      return error_of_session(code);
    case LockCode::HoldLimit:
      return ErrorCode::HoldsExhausted;
    case LockCode::HoldConflict:
      return ErrorCode::HoldConflict;
    case LockCode::LimitDiffers:
      return ErrorCode::PermitsDiffer;
    case LockCode::TargetAbsent:
      return ErrorCode::CandidateAbsent;
    case LockCode::HoldBroken:
      return ErrorCode::HoldBroken;
    case LockCode::LockDelayed:
      return ErrorCode::LockDelayed;
    case LockCode::Moved:
    case LockCode::MoveNotPlain:
    case LockCode::MoveCrowded:
    case LockCode::MovedOut:
    case LockCode::MovedIn:
    case LockCode::MoveSealed:
    case LockCode::MoveRefused:
      return error_of_move(code);
    case LockCode::None:
    case LockCode::SerialStale:
    case LockCode::DelayOver:
    case LockCode::UnknownCommand:
      return ErrorCode::SlotInvalid;
  }
  return ErrorCode::SlotInvalid;
}

rpc::CheckVerdict plain_verdict(const locks::LockCpu& tables, const locks::TokenCheck& check) {
  switch (tables.check(check)) {
    case locks::TokenVerdict::Valid:
      return rpc::CheckVerdict::Valid;
    case locks::TokenVerdict::Stale:
      return rpc::CheckVerdict::Stale;
    case locks::TokenVerdict::Broken:
      return locks::find_lock(tables.tables(), check.shard, check.name_hash).value != 0
                 ? rpc::CheckVerdict::Stale
                 : rpc::CheckVerdict::Free;
    case locks::TokenVerdict::Free:
      return rpc::CheckVerdict::Free;
  }
  return rpc::CheckVerdict::Free;
}

rpc::LockRow row_of(const locks::HeldLock& lock) {
  rpc::LockRow row;
  row.name = lock.name;
  row.shard = lock.shard;
  row.holder = lock.holder;
  row.token = lock.token;
  row.acquired_index = lock.granted_at;
  row.waiter_count = lock.waiter_count;
  row.hold_count = lock.hold_count;
  row.note = lock.note;
  row.permits_limit = lock.permits_limit;
  for (const auto& holder : lock.holders) {
    row.holders.push_back({holder.session, holder.token, holder.granted_at, holder.permits});
  }
  return row;
}

rpc::ReplySlot error_reply(const rpc::RequestSlot& request, ErrorCode error) {
  rpc::ReplySlot reply = rpc::reply_to(request);
  const auto* entry = rpc::find_error(static_cast<std::uint32_t>(error));
  GCOORD_ASSERT(entry != nullptr);
  reply.code = entry->status;
  reply.detail = static_cast<std::uint32_t>(error);
  return reply;
}

rpc::ReplySlot not_leader_reply(const rpc::RequestSlot& request, NodeId leader) {
  const bool known = leader.value != 0;
  rpc::ReplySlot reply = error_reply(request, known ? ErrorCode::NotLeader : ErrorCode::NoLeader);
  reply.leader = leader.value;
  return reply;
}

rpc::ReplySlot moved_reply(const rpc::RequestSlot& request, ShardId to) {
  rpc::ReplySlot reply = error_reply(request, ErrorCode::LockMoved);
  reply.extra = to.value;
  return reply;
}

rpc::ReplySlot engine_refusal(const rpc::RequestSlot& request,
                              const Status& status,
                              NodeId leader) {
  GCOORD_ASSERT(!status.ok());
  if (status.code() == StatusCode::ResourceExhausted) {
    return error_reply(request, ErrorCode::Overloaded);
  }
  if (status.code() == StatusCode::Unknown) {
    return error_reply(request, ErrorCode::ProposalDropped);
  }
  return not_leader_reply(request, leader);
}

namespace {

void set_flags(LockCode code, rpc::ReplySlot& reply) {
  if (code == LockCode::AlreadyHeld || code == LockCode::Downgraded) {
    reply.set(rpc::ReplyFlag::AlreadyHeld);
  } else if (code == LockCode::HeldAgain) {
    reply.set(rpc::ReplyFlag::HeldAgain);
  } else if (code == LockCode::HoldReturned) {
    reply.set(rpc::ReplyFlag::StillHeld);
  }
}

}  // namespace

namespace {

// To a leader, every way in which the lock is not its own says the same.
ErrorCode error_of_request(const rpc::RequestSlot& request, LockCode code) {
  const bool office = request.kind == rpc::RequestKind::ElectProclaim ||
                      request.kind == rpc::RequestKind::ElectTransfer;
  const bool lost = code == LockCode::NotHeld || code == LockCode::NotHolder ||
                    code == LockCode::StaleToken || code == LockCode::HoldConflict;
  return office && lost ? ErrorCode::OfficeLost : error_of(code);
}

}  // namespace

rpc::ReplySlot decision_reply(const rpc::RequestSlot& request,
                              const locks::LockReply& decision,
                              const DecisionContext& context) {
  // Who does not know of broken holds learns that there is none.
  const bool untold =
      decision.code == LockCode::HoldBroken && !request.has(rpc::RequestFlag::TellBroken);
  const ErrorCode error =
      untold ? ErrorCode::LockNotHeld : error_of_request(request, decision.code);
  rpc::ReplySlot reply =
      error == ErrorCode::None ? rpc::reply_to(request) : error_reply(request, error);
  reply.epoch = context.term.value;
  reply.ttl_ms = context.ttl_ms;
  reply.token = decision.token.value;
  reply.extra = decision.holder.value;
  if (decision.code == LockCode::Moved) {
    return moved_reply(request, ShardId{static_cast<std::uint32_t>(decision.token.value)});
  }
  set_flags(decision.code, reply);
  return reply;
}

rpc::ReplySlot cancel_reply(const rpc::RequestSlot& request,
                            const locks::LockReply& decision,
                            const DecisionContext& context) {
  switch (decision.code) {
    case LockCode::Granted:
    case LockCode::HeldAgain:
    case LockCode::Downgraded:
    case LockCode::AlreadyHeld: {
      rpc::ReplySlot reply = error_reply(request, ErrorCode::AcquireGranted);
      reply.token = decision.token.value;
      reply.epoch = context.term.value;
      // Held already: the session's before, so nothing to give back. Held again: one hold.
      set_flags(decision.code, reply);
      return reply;
    }
    case LockCode::Moved:
    case LockCode::SequenceAhead:
    case LockCode::SequenceReused:
    case LockCode::UnknownCommand:
      return decision_reply(request, decision, context);
    default:
      return rpc::reply_to(request);
  }
}

rpc::ReplySlot indexed(rpc::ReplySlot reply, const rpc::RequestSlot& request, LogIndex index) {
  if (reply.code == StatusCode::Ok && request.has(rpc::RequestFlag::WriteIndex)) {
    reply.set(rpc::ReplyFlag::Indexed);
    reply.extra = index.value;
  }
  return reply;
}

rpc::ReplySlot grant_reply(const rpc::RequestSlot& request, const locks::LockReply& decision) {
  if (decision.code != locks::LockCode::SessionRegistered) {
    return error_reply(request, error_of(decision.code));
  }
  if (decision.replayed && request.session < rpc::kSessionIdChosenEnd) {
    return error_reply(request, ErrorCode::SessionExists);
  }
  rpc::ReplySlot reply = rpc::reply_to(request);
  reply.extra = request.session;
  reply.ttl_ms = request.ttl_ms;
  return reply;
}

rpc::ReplySlot event_reply(const rpc::RequestSlot& request,
                           const locks::LockEvent& event,
                           const DecisionContext& context) {
  locks::LockReply decision;
  decision.code = event.code;
  decision.token = event.token;
  return decision_reply(request, decision, context);
}

}  // namespace gcoord::server
