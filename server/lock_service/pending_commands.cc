#include "server/lock_service/pending_commands.h"

#include "server/interfaces/errors.h"
#include "server/interfaces/log_record.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <atomic>
#include <string>

namespace gcoord::server {

using protocol::ErrorCode;

namespace {

// Once in a process: gcoord_server_resident_requests_unsound_total counts all of them.
void log_unsound(const Status& status) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true, std::memory_order_relaxed)) {
    log_error(
        LogComponent::Gpu,
        "the device finds a proposal of this node itself unsound; the node repeats it after a "
        "pause each time, and it will not become sound: {}",
        status.to_string());
  }
}

}  // namespace

void PendingCommands::on_decided(const AppliedEntry& entry, const locks::LockReply& decision) {
  const Pending pending = env_.pending.take(entry.cookie);
  switch (pending.kind) {
    case PendingKind::Request:
      return on_request_decided(pending, entry, decision);
    case PendingKind::GroupWithdrawal:
      return env_.parts.groups.on_withdrawn(pending, entry.shard, decision);
    case PendingKind::RendezvousWithdrawal:
      return env_.parts.rendezvous.on_withdrawn(pending, entry.shard, decision);
    case PendingKind::RendezvousCall:
      return env_.parts.rendezvous.on_call_ended(pending, entry.shard, decision);
    case PendingKind::Close:
      return env_.sessions.on_closed(pending, ErrorCode::None, NodeId{});
    case PendingKind::Move:
      return env_.moves.on_decided(pending.group, decision);
    case PendingKind::Expiry:
      return env_.expiry.on_decided(pending.group, env_.clock.now);
    case PendingKind::TimedOut:
      return env_.outcomes.on_timeout_decided();
    case PendingKind::Broken:
    case PendingKind::Delay:
      return;  // Their effects are told by events and by the clock of the lock tables.
    case PendingKind::Read:
    case PendingKind::Deadlock:
    case PendingKind::ReplicaRead:
    case PendingKind::AgeQuestion:
    case PendingKind::SessionLook:
    case PendingKind::PastRead:
    case PendingKind::GroupLook:
    case PendingKind::RendezvousLook:
    case PendingKind::None:
      break;
  }
  GCOORD_ASSERT(false);
}

namespace {

// The name in a request of a group or a rendezvous.
std::string name_in(const AppliedEntry& entry) {
  const auto command = locks::decode(record_body(entry.payload));
  GCOORD_ASSERT(command.ok());
  return {command.value().name, command.value().name_bytes};
}

}  // namespace

void PendingCommands::on_request_decided(const Pending& pending,
                                         const AppliedEntry& entry,
                                         const locks::LockReply& decision) {
  switch (pending.request.kind) {
    case protocol::RequestKind::GroupJoin:
    case protocol::RequestKind::GroupLeave:
    case protocol::RequestKind::GroupUpdate:
    case protocol::RequestKind::GroupBarrier:
      return env_.parts.groups.on_decided(
          pending, {.shard = entry.shard, .name = name_in(entry)}, decision);
    case protocol::RequestKind::RendezvousJoin:
    case protocol::RequestKind::RendezvousLeave:
      return env_.parts.rendezvous.on_decided(
          pending, {.shard = entry.shard, .name = name_in(entry)}, decision);
    default:
      return env_.outcomes.on_decided(pending, entry, decision);
  }
}

// The device judges the same command the same way in the next tick, for ever.
Tick PendingCommands::repeat_at(const Status& status) const {
  if (status.detail() != kDeviceRefused) {
    return env_.clock.now + 1;
  }
  log_unsound(status);
  return env_.clock.now + std::max<std::uint64_t>(kUnsoundRestMs / env_.clock.tick_ms, 1);
}

void PendingCommands::on_refused(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  const Pending pending = env_.pending.take(cookie);
  switch (pending.kind) {
    case PendingKind::Request:
      return env_.outcomes.on_refused(pending, status, leader_hint);
    case PendingKind::Close: {
      const auto refusal = engine_refusal(pending.request, status, leader_hint);
      return env_.sessions.on_closed(pending, static_cast<ErrorCode>(refusal.detail), leader_hint);
    }
    case PendingKind::TimedOut:
      return env_.outcomes.on_timeout_refused(pending, repeat_at(status));
    case PendingKind::Expiry:
      return env_.expiry.on_refused(pending.group, repeat_at(status));
    case PendingKind::Move:
      return env_.moves.on_refused(pending.group, status, leader_hint);
    case PendingKind::Broken:
      return;  // The circle is found again if it is still there.
    case PendingKind::Delay:
      return env_.delays.on_refused(pending, repeat_at(status));
    case PendingKind::GroupWithdrawal:
      return env_.parts.groups.on_withdrawal_refused(pending);
    case PendingKind::RendezvousWithdrawal:
      return env_.parts.rendezvous.on_withdrawal_refused(pending);
    case PendingKind::RendezvousCall:
      return env_.parts.rendezvous.on_call_refused(pending);
    case PendingKind::Read:
    case PendingKind::Deadlock:
    case PendingKind::ReplicaRead:
    case PendingKind::AgeQuestion:
    case PendingKind::SessionLook:
    case PendingKind::PastRead:
    case PendingKind::GroupLook:
    case PendingKind::RendezvousLook:
    case PendingKind::None:
      break;
  }
  GCOORD_ASSERT(false);
}

}  // namespace gcoord::server
