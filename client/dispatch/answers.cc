#include "client/dispatch/answers.h"

#include "client/net/connection.h"
#include "client/net/failure.h"
#include "protocol/lock_messages.h"
#include "protocol/reply_sink.h"

namespace gcoord::client {

bool released_before(const Operation& operation, protocol::ErrorCode code) {
  const bool breaks = operation.slot.kind == protocol::RequestKind::LockBreak;
  const bool by_token = operation.by_token() || breaks;
  const bool again = operation.tries.renumbered || (by_token && operation.tries.outcome_unknown);
  return again && (breaks || operation.slot.kind == protocol::RequestKind::LockRelease) &&
         (code == protocol::ErrorCode::LockNotHeld || code == protocol::ErrorCode::TokenStale ||
          code == protocol::ErrorCode::HolderOther);
}

bool is_being_released(OperationTable& operations,
                       const Operation& acquire,
                       const protocol::ReplySlot& slot) {
  if (!acquire.acquires() || acquire.counted || acquire.try_once ||
      !slot.has(protocol::ReplyFlag::AlreadyHeld)) {
    return false;
  }
  bool found = false;
  operations.for_each([&](std::uint64_t, const Operation& other) {
    found = found || (other.slot.kind == protocol::RequestKind::LockRelease && !other.counted &&
                      other.session == acquire.session && other.slot.token == slot.token &&
                      other.name_hash == acquire.name_hash);
  });
  return found;
}

bool refuses_shard(protocol::ErrorCode code) {
  return code == protocol::ErrorCode::NotLeader || code == protocol::ErrorCode::NoLeader ||
         code == protocol::ErrorCode::Overloaded || code == protocol::ErrorCode::ProposalDropped ||
         code == protocol::ErrorCode::QuorumUnavailable || code == protocol::ErrorCode::DiskLow;
}

bool asks_a_witness(const Operation& operation, protocol::ErrorCode code) {
  return operation.target == Target::ShardLeader && code == protocol::ErrorCode::WitnessHasNoState;
}

bool ends_wait(protocol::ErrorCode code) {
  switch (code) {
    case protocol::ErrorCode::WaitTimedOut:
    case protocol::ErrorCode::WaitCancelled:
    case protocol::ErrorCode::Deadlock:
    case protocol::ErrorCode::SessionUnknown:
    case protocol::ErrorCode::SessionExpired:
    case protocol::ErrorCode::SessionClosed:
      return true;
    default:
      return false;
  }
}

bool replaced_by_copy(const Operation& operation, protocol::ErrorCode code) {
  return code == protocol::ErrorCode::SequenceReused && operation.lines_up() &&
         operation.tries.copies != 0;
}

Status status_of(const protocol::ReplySlot& slot, std::span<const std::byte> payload) {
  if (slot.code == gcoord::StatusCode::Ok) {
    return {};
  }
  const auto code = static_cast<StatusCode>(slot.code);
  if (!payload.empty()) {
    return {code, reason_in(payload), slot.detail};
  }
  if (protocol::find_error(slot.detail) == nullptr) {
    return {code, "the node refused for a reason that is unknown to this client", slot.detail};
  }
  const bool names_holder =
      slot.detail == static_cast<std::uint32_t>(protocol::ErrorCode::LockBusy);
  // No session: the node does not say who it is to whom may not know it.
  const std::string holder = slot.extra == 0 ? "a session that you may not see"
                                             : "session " + std::to_string(slot.extra) +
                                                   ", token " + std::to_string(slot.token);
  return failure(static_cast<protocol::ErrorCode>(slot.detail),
                 names_holder ? holder : std::string{});
}

bool is_trouble(const Status& status) {
  switch (status.code()) {
    case StatusCode::Unknown:
    case StatusCode::Internal:
    case StatusCode::DataLoss:
    case StatusCode::Unavailable:
    case StatusCode::ResourceExhausted:
      return true;
    default:
      return false;
  }
}

std::string request_text(NodeId node, const Connection* connection, std::uint64_t request_id) {
  if (connection == nullptr || connection->number() == 0) {
    return {};
  }
  return " (request " + protocol::connection_name(protocol::ConnectionId{connection->number()}) +
         "/" + std::to_string(request_id) + " of node " + std::to_string(node.value) + ")";
}

}  // namespace gcoord::client
