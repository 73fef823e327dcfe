#include "server/interfaces/replies.h"

#include "common/enumerators.h"
#include "protocol/lease_messages.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gcoord::server {

using locks::LockCode;
using protocol::ErrorCode;

namespace {

struct CodeError {
  LockCode code;
  ErrorCode error;
};

// clang-format off
constexpr CodeError kErrors[] = {
    // Successes.
    {LockCode::Granted, ErrorCode::None},
    {LockCode::AlreadyHeld, ErrorCode::None},
    {LockCode::HeldAgain, ErrorCode::None},
    {LockCode::Downgraded, ErrorCode::None},
    {LockCode::Proclaimed, ErrorCode::None},
    {LockCode::Transferred, ErrorCode::None},
    {LockCode::Released, ErrorCode::None},
    {LockCode::HoldReturned, ErrorCode::None},
    {LockCode::SessionRegistered, ErrorCode::None},
    {LockCode::Waiting, ErrorCode::None},
    {LockCode::Noop, ErrorCode::None},
    {LockCode::Broken, ErrorCode::None},
    {LockCode::DelayEnded, ErrorCode::None},
    {LockCode::SessionsEnded, ErrorCode::None},
    {LockCode::GroupTaken, ErrorCode::None},  // The group machine says more (server/groups).
    // Locks and their holders.
    {LockCode::Busy, ErrorCode::LockBusy},
    {LockCode::NotHolder, ErrorCode::HolderOther},
    {LockCode::StaleToken, ErrorCode::TokenStale},
    {LockCode::NotHeld, ErrorCode::LockNotHeld},
    {LockCode::HoldLimit, ErrorCode::HoldsExhausted},
    {LockCode::HoldConflict, ErrorCode::HoldConflict},
    {LockCode::LimitDiffers, ErrorCode::PermitsDiffer},
    {LockCode::TargetAbsent, ErrorCode::CandidateAbsent},
    {LockCode::HoldBroken, ErrorCode::HoldBroken},
    {LockCode::LockDelayed, ErrorCode::LockDelayed},
    // Waits.
    {LockCode::WaitTimedOut, ErrorCode::WaitTimedOut},
    {LockCode::WaitCancelled, ErrorCode::WaitCancelled},
    {LockCode::Deadlock, ErrorCode::Deadlock},
    {LockCode::NotWaiting, ErrorCode::WaitUnknown},
    // A session or its numbers.
    {LockCode::SessionUnknown, ErrorCode::SessionUnknown},
    {LockCode::SessionExpired, ErrorCode::SessionExpired},
    {LockCode::SessionClosed, ErrorCode::SessionClosed},
    {LockCode::SequenceStale, ErrorCode::SequenceAcknowledged},
    {LockCode::SequenceForgotten, ErrorCode::SequenceForgotten},
    {LockCode::SequenceAhead, ErrorCode::SequenceTooFar},
    {LockCode::SequenceReused, ErrorCode::SequenceReused},
    {LockCode::WindowFull, ErrorCode::SessionWindowFull},
    // Moves (locks/state/move.h).
    {LockCode::Moved, ErrorCode::LockMoved},
    {LockCode::MoveNotPlain, ErrorCode::MoveNotPlain},
    {LockCode::MoveCrowded, ErrorCode::MoveCrowded},
    // No answers to a client; they never get here.
    {LockCode::MovedOut, ErrorCode::SlotInvalid},
    {LockCode::MovedIn, ErrorCode::SlotInvalid},
    {LockCode::MoveSealed, ErrorCode::SlotInvalid},
    {LockCode::MoveRefused, ErrorCode::SlotInvalid},
    {LockCode::None, ErrorCode::SlotInvalid},
    {LockCode::SerialStale, ErrorCode::SlotInvalid},
    {LockCode::DelayOver, ErrorCode::SlotInvalid},
    {LockCode::UnknownCommand, ErrorCode::SlotInvalid},
};
// clang-format on

constexpr std::size_t kCodesEnd = 256;

static_assert(holds_for_enumerators_only<LockCode, kCodesEnd>([](LockCode code) {
                return std::ranges::count(kErrors, code, &CodeError::code) == 1;
              }),
              "each lock code has one error");

constexpr auto kErrorByCode = [] {
  std::array<ErrorCode, kCodesEnd> errors{};
  errors.fill(ErrorCode::SlotInvalid);
  for (const CodeError& each : kErrors) {
    errors[static_cast<std::size_t>(each.code)] = each.error;
  }
  return errors;
}();

}  // namespace

protocol::ErrorCode error_of(LockCode code) {
  return kErrorByCode[static_cast<std::size_t>(code)];
}

protocol::CheckVerdict plain_verdict(const locks::LockCpu& tables, const locks::TokenCheck& check) {
  const locks::LockView view = tables.view(check.shard);
  switch (tables.check(check)) {
    case locks::TokenVerdict::Valid:
      return protocol::CheckVerdict::Valid;
    case locks::TokenVerdict::Stale:
      return protocol::CheckVerdict::Stale;
    case locks::TokenVerdict::Broken:
      return locks::find_lock(view.tables(), check.shard, check.name_hash).value != 0
                 ? protocol::CheckVerdict::Stale
                 : protocol::CheckVerdict::Free;
    case locks::TokenVerdict::Free:
      return protocol::CheckVerdict::Free;
  }
  return protocol::CheckVerdict::Free;
}

protocol::LockRow row_of(const locks::HeldLock& lock) {
  protocol::LockRow row;
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

protocol::ReplySlot error_reply(const protocol::RequestSlot& request, ErrorCode error) {
  protocol::ReplySlot reply = protocol::reply_to(request);
  const auto* entry = protocol::find_error(static_cast<std::uint32_t>(error));
  GCOORD_ASSERT(entry != nullptr);
  reply.code = entry->status;
  reply.detail = static_cast<std::uint32_t>(error);
  return reply;
}

protocol::ReplySlot not_leader_reply(const protocol::RequestSlot& request, NodeId leader) {
  const bool known = leader.value != 0;
  protocol::ReplySlot reply =
      error_reply(request, known ? ErrorCode::NotLeader : ErrorCode::NoLeader);
  reply.leader = leader.value;
  return reply;
}

protocol::ReplySlot moved_reply(const protocol::RequestSlot& request, ShardId to) {
  protocol::ReplySlot reply = error_reply(request, ErrorCode::LockMoved);
  reply.extra = to.value;
  return reply;
}

protocol::ReplySlot engine_refusal(const protocol::RequestSlot& request,
                                   const Status& status,
                                   NodeId leader) {
  GCOORD_ASSERT(!status.ok());
  if (status.code() == StatusCode::ResourceExhausted) {
    return error_reply(request, ErrorCode::Overloaded);
  }
  if (status.code() == StatusCode::Unknown) {
    return error_reply(request, ErrorCode::ProposalDropped);
  }
  if (status.code() == StatusCode::InvalidArgument) {
    return error_reply(request, ErrorCode::DeviceRefused);
  }
  return not_leader_reply(request, leader);
}

namespace {

void set_flags(LockCode code, protocol::ReplySlot& reply) {
  if (code == LockCode::AlreadyHeld || code == LockCode::Downgraded) {
    reply.set(protocol::ReplyFlag::AlreadyHeld);
  } else if (code == LockCode::HeldAgain) {
    reply.set(protocol::ReplyFlag::HeldAgain);
  } else if (code == LockCode::HoldReturned) {
    reply.set(protocol::ReplyFlag::StillHeld);
  }
}

}  // namespace

namespace {

// Whether the decision's token and holder are of somebody else's hold, or may be.
bool names_others(LockCode code) {
  switch (code) {
    case LockCode::Busy:
    case LockCode::NotHolder:
    case LockCode::StaleToken:
    case LockCode::LockDelayed:
    case LockCode::Broken:
      return true;
    default:
      return false;
  }
}

// To a leader, every way in which the lock is not its own says the same.
ErrorCode error_of_request(const protocol::RequestSlot& request, LockCode code) {
  const bool office = request.kind == protocol::RequestKind::ElectProclaim ||
                      request.kind == protocol::RequestKind::ElectTransfer;
  const bool lost = code == LockCode::NotHeld || code == LockCode::NotHolder ||
                    code == LockCode::StaleToken || code == LockCode::HoldConflict;
  return office && lost ? ErrorCode::OfficeLost : error_of(code);
}

}  // namespace

protocol::ReplySlot decision_reply(const protocol::RequestSlot& request,
                                   const locks::LockReply& decision,
                                   const DecisionContext& context) {
  // Who does not know of broken holds learns that there is none.
  const bool untold =
      decision.code == LockCode::HoldBroken && !request.has(protocol::RequestFlag::TellBroken);
  const ErrorCode error =
      untold ? ErrorCode::LockNotHeld : error_of_request(request, decision.code);
  protocol::ReplySlot reply =
      error == ErrorCode::None ? protocol::reply_to(request) : error_reply(request, error);
  reply.epoch = context.term.value;
  reply.ttl_ms = context.ttl_ms;
  reply.token = decision.token.value;
  reply.extra = decision.holder.value;
  if (decision.code == LockCode::Moved) {
    return moved_reply(request, ShardId{static_cast<std::uint32_t>(decision.token.value)});
  }
  set_flags(decision.code, reply);
  if (request.has(protocol::RequestFlag::Discreet) && names_others(decision.code)) {
    reply.token = 0;
    reply.extra = 0;
  }
  return reply;
}

protocol::ReplySlot cancel_reply(const protocol::RequestSlot& request,
                                 const locks::LockReply& decision,
                                 const DecisionContext& context) {
  switch (decision.code) {
    case LockCode::Granted:
    case LockCode::HeldAgain:
    case LockCode::Downgraded:
    case LockCode::AlreadyHeld: {
      protocol::ReplySlot reply = error_reply(request, ErrorCode::AcquireGranted);
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
      return protocol::reply_to(request);
  }
}

protocol::ReplySlot indexed(protocol::ReplySlot reply,
                            const protocol::RequestSlot& request,
                            LogIndex index) {
  if (reply.code == StatusCode::Ok && request.has(protocol::RequestFlag::WriteIndex)) {
    reply.set(protocol::ReplyFlag::Indexed);
    reply.extra = index.value;
  }
  return reply;
}

protocol::ReplySlot grant_reply(const protocol::RequestSlot& request,
                                const locks::LockReply& decision) {
  if (decision.code != locks::LockCode::SessionRegistered) {
    return error_reply(request, error_of(decision.code));
  }
  if (decision.replayed && request.session < protocol::kSessionIdChosenEnd) {
    return error_reply(request, ErrorCode::SessionExists);
  }
  protocol::ReplySlot reply = protocol::reply_to(request);
  reply.extra = request.session;
  reply.ttl_ms = request.ttl_ms;
  return reply;
}

protocol::ReplySlot event_reply(const protocol::RequestSlot& request,
                                const locks::LockEvent& event,
                                const DecisionContext& context) {
  locks::LockReply decision;
  decision.code = event.code;
  decision.token = event.token;
  return decision_reply(request, decision, context);
}

}  // namespace gcoord::server
