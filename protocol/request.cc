#include "protocol/request.h"

#include <array>
#include <cstddef>

namespace gcoord::protocol {

namespace {

struct KindName {
  RequestKind kind;
  std::string_view name;
};

constexpr KindName kKindNames[] = {
    {RequestKind::Hello, "hello"},
    {RequestKind::OpenSession, "open_session"},
    {RequestKind::KeepAlive, "keep_alive"},
    {RequestKind::CloseSession, "close_session"},
    {RequestKind::LockAcquire, "lock_acquire"},
    {RequestKind::LockRelease, "lock_release"},
    {RequestKind::LockCancel, "lock_cancel"},
    {RequestKind::LockCheck, "lock_check"},
    {RequestKind::LockCheckBatch, "lock_check_batch"},
    {RequestKind::LockGet, "lock_get"},
    {RequestKind::LockList, "lock_list"},
    {RequestKind::LockAcquireHold, "lock_acquire_hold"},
    {RequestKind::LockDeadlocks, "lock_deadlocks"},
    {RequestKind::LockMove, "lock_move"},
    {RequestKind::LockBreak, "lock_break"},
    {RequestKind::SessionLosses, "session_losses"},
    {RequestKind::NodeStatus, "node_status"},
    {RequestKind::ShardList, "shard_list"},
    {RequestKind::ShardShow, "shard_show"},
    {RequestKind::LeaderMap, "leader_map"},
    {RequestKind::LogLevels, "log_levels"},
    {RequestKind::SnapshotOpen, "snapshot_open"},
    {RequestKind::SnapshotRead, "snapshot_read"},
    {RequestKind::LedgerPrune, "ledger_prune"},
    {RequestKind::WatchOpen, "watch_open"},
    {RequestKind::WatchClose, "watch_close"},
    {RequestKind::WatchProgress, "watch_progress"},
    {RequestKind::ElectProclaim, "elect_proclaim"},
    {RequestKind::ElectTransfer, "elect_transfer"},
    {RequestKind::ElectCandidates, "elect_candidates"},
    {RequestKind::ElectAsk, "elect_ask"},
    {RequestKind::LockRead, "lock_read"},
    {RequestKind::LockReadList, "lock_read_list"},
    {RequestKind::SessionGrant, "session_grant"},
    {RequestKind::SessionShow, "session_show"},
    {RequestKind::SessionList, "session_list"},
    {RequestKind::LockGetAt, "lock_get_at"},
    {RequestKind::GroupJoin, "group_join"},
    {RequestKind::GroupLeave, "group_leave"},
    {RequestKind::GroupGet, "group_get"},
    {RequestKind::GroupBarrier, "group_barrier"},
    {RequestKind::GroupUpdate, "group_update"},
    {RequestKind::RendezvousJoin, "rendezvous_join"},
    {RequestKind::RendezvousLeave, "rendezvous_leave"},
    {RequestKind::RendezvousGet, "rendezvous_get"},
    {RequestKind::ViewGet, "view_get"},
    {RequestKind::MemberUpdate, "member_update"},
    {RequestKind::MemberChange, "member_change"},
    {RequestKind::MemberJoin, "member_join"},
    {RequestKind::MemberProgress, "member_progress"},
    {RequestKind::MemberAlarms, "member_alarms"},
    {RequestKind::Authenticate, "authenticate"},
    {RequestKind::SessionAttach, "session_attach"},
    {RequestKind::AccessGet, "access_get"},
    {RequestKind::AccessChange, "access_change"},
    {RequestKind::SessionDescribe, "session_describe"},
    {RequestKind::HolderDescribe, "holder_describe"},
    {RequestKind::LimitsGet, "limits_get"},
    {RequestKind::LimitsChange, "limits_change"},
    {RequestKind::LedgerOrders, "ledger_orders"},
};

// By number: asked for every request that comes.
constexpr auto kKnown = [] {
  std::array<bool, 256> known{};
  for (const KindName& each : kKindNames) {
    known[static_cast<std::size_t>(each.kind)] = true;
  }
  return known;
}();

}  // namespace

std::string_view request_kind_name(RequestKind kind) {
  for (const KindName& each : kKindNames) {
    if (each.kind == kind) {
      return each.name;
    }
  }
  return "unknown";
}

bool request_kind_known(RequestKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < kKnown.size() && kKnown[number];
}

ReplySlot reply_to(const RequestSlot& request) {
  ReplySlot reply;
  reply.kind = request.kind;
  reply.request_id = request.request_id;
  reply.shard = request.shard;
  return reply;
}

}  // namespace gcoord::protocol
