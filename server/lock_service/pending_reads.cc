#include "server/lock_service/pending_reads.h"

namespace gcoord::server {

void PendingReads::on_confirmed(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  const Pending pending = env_.pending.take(cookie);
  switch (pending.kind) {
    case PendingKind::Read:
    case PendingKind::ReplicaRead:
    case PendingKind::AgeQuestion:
      return env_.reads.on_confirmed(pending, status, leader_hint);
    case PendingKind::Deadlock:
      return env_.deadlocks.on_confirmed(pending.group, ShardId{pending.request.shard}, status);
    case PendingKind::SessionLook:
      return env_.sessions.on_confirmed(pending, status, leader_hint);
    case PendingKind::PastRead:
      return past_sink_(pending.group, status, leader_hint);
    case PendingKind::GroupLook:
      return env_.parts.groups.on_confirmed(pending, status, leader_hint);
    case PendingKind::RendezvousLook:
      return env_.parts.rendezvous.on_confirmed(pending, status, leader_hint);
    case PendingKind::Request:
    case PendingKind::TimedOut:
    case PendingKind::Expiry:
    case PendingKind::Close:
    case PendingKind::Broken:
    case PendingKind::Delay:
    case PendingKind::Move:
    case PendingKind::GroupWithdrawal:
    case PendingKind::RendezvousWithdrawal:
    case PendingKind::RendezvousCall:
    case PendingKind::None:
      break;
  }
  GCOORD_ASSERT(false);
}

}  // namespace gcoord::server
