#include "rpc/request.h"

namespace gcoord::rpc {

std::string_view request_kind_name(RequestKind kind) {
  switch (kind) {
    case RequestKind::Hello:
      return "hello";
    case RequestKind::OpenSession:
      return "open_session";
    case RequestKind::KeepAlive:
      return "keep_alive";
    case RequestKind::CloseSession:
      return "close_session";
    case RequestKind::LockAcquire:
      return "lock_acquire";
    case RequestKind::LockRelease:
      return "lock_release";
    case RequestKind::LockCancel:
      return "lock_cancel";
    case RequestKind::LockCheck:
      return "lock_check";
    case RequestKind::LockCheckBatch:
      return "lock_check_batch";
    case RequestKind::LockGet:
      return "lock_get";
    case RequestKind::LockList:
      return "lock_list";
    case RequestKind::LockAcquireHold:
      return "lock_acquire_hold";
    case RequestKind::LockDeadlocks:
      return "lock_deadlocks";
    case RequestKind::LockBreak:
      return "lock_break";
    case RequestKind::SessionLosses:
      return "session_losses";
    case RequestKind::NodeStatus:
      return "node_status";
    case RequestKind::ShardList:
      return "shard_list";
    case RequestKind::ShardShow:
      return "shard_show";
    case RequestKind::LeaderMap:
      return "leader_map";
    case RequestKind::SnapshotOpen:
      return "snapshot_open";
    case RequestKind::SnapshotRead:
      return "snapshot_read";
    case RequestKind::LedgerPrune:
      return "ledger_prune";
    case RequestKind::WatchOpen:
      return "watch_open";
    case RequestKind::WatchClose:
      return "watch_close";
    case RequestKind::WatchProgress:
      return "watch_progress";
    case RequestKind::ElectProclaim:
      return "elect_proclaim";
    case RequestKind::ElectTransfer:
      return "elect_transfer";
    case RequestKind::ElectCandidates:
      return "elect_candidates";
    case RequestKind::ElectAsk:
      return "elect_ask";
  }
  return "unknown";
}

bool request_kind_known(RequestKind kind) {
  return request_kind_name(kind) != "unknown";
}

ReplySlot reply_to(const RequestSlot& request) {
  ReplySlot reply;
  reply.kind = request.kind;
  reply.request_id = request.request_id;
  reply.shard = request.shard;
  return reply;
}

}  // namespace gcoord::rpc
