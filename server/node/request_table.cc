#include "server/node/request_table.h"

#include "common/enumerators.h"
#include "server/access/node_access.h"
#include "server/audit/node_audit.h"
#include "server/detector/alarm_requests.h"
#include "server/gate/request_gate.h"
#include "server/history/ledger_pruning.h"
#include "server/limits/node_limits.h"
#include "server/lock_service/lock_service.h"
#include "server/log/level_requests.h"
#include "server/members/node_members.h"
#include "server/node/dear_requests.h"
#include "server/reads/historical_reads.h"
#include "server/snapshots/downloads.h"
#include "server/watch/hub.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gcoord::server {

namespace {

using protocol::RequestKind;

void refuse(const RequestOwners& owners, const ClientRequest& request) {
  owners.service.refuse_kind(request);
}

// A handler of the lock service, behind its checks.
template <auto kPart, auto kMethod>
void serve(const RequestOwners& owners, const ClientRequest& request) {
  if (owners.service.admit(request)) {
    (owners.service.handlers().*kPart.*kMethod)(request);
  }
}

template <auto kMethod>
constexpr RequestHandler kLocks = serve<&LockServiceHandlers::locks, kMethod>;
template <auto kMethod>
constexpr RequestHandler kHolders = serve<&LockServiceHandlers::holders, kMethod>;
template <auto kMethod>
constexpr RequestHandler kSessions = serve<&LockServiceHandlers::sessions, kMethod>;
template <auto kMethod>
constexpr RequestHandler kReads = serve<&LockServiceHandlers::reads, kMethod>;
template <auto kMethod>
constexpr RequestHandler kGroups = serve<&LockServiceHandlers::groups, kMethod>;
template <auto kMethod>
constexpr RequestHandler kRendezvous = serve<&LockServiceHandlers::rendezvous, kMethod>;
template <auto kMethod>
constexpr RequestHandler kNode = serve<&LockServiceHandlers::node, kMethod>;

// The lock service takes what nobody serves, so that it is checked and counted before it is
// refused.
void unserved(const RequestOwners& owners, const ClientRequest& request) {
  if (owners.service.admit(request)) {
    refuse(owners, request);
  }
}

// A part beside the lock service, which checks its requests itself.
template <auto kPart>
void hand_to(const RequestOwners& owners, const ClientRequest& request) {
  if (auto* const part = owners.*kPart; part != nullptr) {
    part->on_request(request.connection, request.slot, request.payload);
  } else {
    unserved(owners, request);
  }
}

void hand_to_past(const RequestOwners& owners, const ClientRequest& request) {
  if (owners.past != nullptr) {
    owners.past->on_request(request.connection, request.slot, request.payload, owners.now_ms());
  } else {
    unserved(owners, request);
  }
}

void hand_to_identities(const RequestOwners& owners, const ClientRequest& request) {
  if (owners.identities != nullptr) {
    owners.identities->on_request(request);
  } else {
    unserved(owners, request);
  }
}

constexpr RequestHandler kSnapshots = hand_to<&RequestOwners::snapshots>;
constexpr RequestHandler kPruning = hand_to<&RequestOwners::pruning>;
constexpr RequestHandler kWatches = hand_to<&RequestOwners::watches>;
constexpr RequestHandler kLog = hand_to<&RequestOwners::log>;
constexpr RequestHandler kMembers = hand_to<&RequestOwners::members>;
constexpr RequestHandler kAccess = hand_to<&RequestOwners::access>;
constexpr RequestHandler kAudit = hand_to<&RequestOwners::audit>;
constexpr RequestHandler kLimits = hand_to<&RequestOwners::limits>;
constexpr RequestHandler kAlarms = hand_to<&RequestOwners::alarms>;

constexpr bool kByLeader = true;
constexpr bool kByAnyNode = false;

using enum RequestOwner;
using enum RequestCost;

// clang-format off
constexpr RequestRow kRows[] = {
    {RequestKind::Hello, FrontEnd, unserved, kByAnyNode},
    {RequestKind::OpenSession, Sessions, kSessions<&SessionRequests::open>, kByAnyNode},
    {RequestKind::KeepAlive, Sessions, kSessions<&SessionRequests::keep_alive>, kByAnyNode},
    // Of one shard its leader does it; of all, each node does those that it leads.
    {RequestKind::CloseSession, Sessions, kSessions<&SessionRequests::close>, kByLeader},
    {RequestKind::LockAcquire, Locks, kLocks<&LockRequests::acquire>, kByLeader},
    {RequestKind::LockRelease, Locks, kLocks<&LockRequests::release>, kByLeader},
    {RequestKind::LockCancel, Locks, kLocks<&LockRequests::cancel>, kByLeader},
    {RequestKind::LockCheck, Reads, kReads<&ReadRequests::read>, kByLeader},
    // Of lists and batches, each node answers for the shards that it leads.
    {RequestKind::LockCheckBatch, Reads, kReads<&ReadRequests::read>, kByAnyNode},
    {RequestKind::LockGet, Reads, kReads<&ReadRequests::read>, kByLeader},
    {RequestKind::LockList, Reads, kReads<&ReadRequests::read>, kByAnyNode, Dear},
    {RequestKind::LockAcquireHold, Locks, kLocks<&LockRequests::hold>, kByLeader},
    {RequestKind::LockBreak, Locks, kLocks<&LockRequests::break_lock>, kByLeader},
    {RequestKind::SessionLosses, Sessions, kSessions<&SessionRequests::losses>, kByAnyNode},
    {RequestKind::NodeStatus, Node, kNode<&NodeRequests::node_status>, kByAnyNode, Dear},
    {RequestKind::ShardList, Node, kNode<&NodeRequests::shard_range>, kByAnyNode, Dear},
    {RequestKind::ShardShow, Node, kNode<&NodeRequests::shard_show>, kByAnyNode},
    {RequestKind::LeaderMap, Node, kNode<&NodeRequests::shard_range>, kByAnyNode, Dear},
    {RequestKind::LogLevels, Log, kLog, kByAnyNode},
    {RequestKind::SnapshotOpen, Snapshots, kSnapshots, kByAnyNode, Dear},
    {RequestKind::SnapshotRead, Snapshots, kSnapshots, kByAnyNode, Dear},
    {RequestKind::WatchOpen, Watches, kWatches, kByAnyNode},
    {RequestKind::WatchClose, Watches, kWatches, kByAnyNode},
    {RequestKind::WatchProgress, Watches, kWatches, kByAnyNode},
    {RequestKind::ElectProclaim, Holders, kHolders<&HolderRequests::proclaim>, kByLeader},
    {RequestKind::ElectTransfer, Holders, kHolders<&HolderRequests::transfer>, kByLeader},
    {RequestKind::ElectCandidates, Reads, kReads<&ReadRequests::read>, kByLeader},
    {RequestKind::ElectAsk, Holders, kHolders<&HolderRequests::ask>, kByLeader},
    {RequestKind::LockDeadlocks, Node, kNode<&NodeRequests::deadlocks>, kByAnyNode, Dear},
    {RequestKind::LockMove, Locks, kLocks<&LockRequests::move>, kByLeader},
    {RequestKind::LedgerPrune, Ledger, kPruning, kByAnyNode},
    // A linearizable read takes the leaders of its shards, shard by shard; others any replica.
    {RequestKind::LockRead, Reads, kReads<&ReadRequests::read_replica>, kByAnyNode},
    {RequestKind::LockReadList, Reads, kReads<&ReadRequests::read_replica>, kByAnyNode, Dear},
    {RequestKind::SessionGrant, Sessions, kSessions<&SessionRequests::grant>, kByLeader},
    {RequestKind::SessionShow, Sessions, kSessions<&SessionRequests::show>, kByLeader},
    {RequestKind::SessionList, Sessions, kSessions<&SessionRequests::list>, kByAnyNode, Dear},
    {RequestKind::GroupJoin, Groups, kGroups<&GroupRequests::join>, kByLeader},
    {RequestKind::GroupLeave, Groups, kGroups<&GroupRequests::leave>, kByLeader},
    {RequestKind::GroupGet, Groups, kGroups<&GroupRequests::get>, kByLeader},
    {RequestKind::GroupBarrier, Groups, kGroups<&GroupRequests::barrier>, kByLeader},
    {RequestKind::GroupUpdate, Groups, kGroups<&GroupRequests::update>, kByLeader},
    {RequestKind::RendezvousJoin, Groups, kRendezvous<&RendezvousRequests::join>, kByLeader},
    {RequestKind::RendezvousLeave, Groups, kRendezvous<&RendezvousRequests::leave>, kByLeader},
    {RequestKind::RendezvousGet, Groups, kRendezvous<&RendezvousRequests::get>, kByLeader},
    {RequestKind::LockGetAt, Past, hand_to_past, kByAnyNode, Dear},
    {RequestKind::ViewGet, Members, kMembers, kByAnyNode},
    {RequestKind::MemberUpdate, Members, kMembers, kByLeader},
    // Leaderships a node hands over itself, whoever leads shard 0.
    {RequestKind::MemberChange, Members, kMembers, kByLeader},
    // By the token.
    {RequestKind::MemberJoin, Members, kMembers, kByLeader},
    {RequestKind::MemberProgress, Members, kMembers, kByLeader},
    {RequestKind::MemberAlarms, Alarms, kAlarms, kByAnyNode},
    {RequestKind::Authenticate, Identities, hand_to_identities, kByAnyNode},
    {RequestKind::SessionAttach, Identities, hand_to_identities, kByAnyNode},
    {RequestKind::AccessGet, Access, kAccess, kByLeader},
    {RequestKind::AccessChange, Access, kAccess, kByLeader},
    {RequestKind::SessionDescribe, RequestOwner::Audit, kAudit, kByAnyNode},
    {RequestKind::HolderDescribe, RequestOwner::Audit, kAudit, kByAnyNode},
    {RequestKind::LimitsGet, Limits, kLimits, kByLeader},
    {RequestKind::LimitsChange, Limits, kLimits, kByLeader},
    {RequestKind::LedgerOrders, Limits, kLimits, kByLeader},
};

// clang-format on

// Lists of a few shards are not: a client asks who leads one before it sends a wait again.
bool is_dear(const RequestRow& row, const ClientRequest& request) {
  const bool range = row.kind == RequestKind::ShardList || row.kind == RequestKind::LeaderMap;
  return row.cost == RequestCost::Dear && !(range && NodeRequests::is_small(request));
}

// Numbers from here on are no kinds.
constexpr std::size_t kKindsEnd = 256;

consteval bool has_row(RequestKind kind) {
  return std::ranges::count(kRows, kind, &RequestRow::kind) == 1;
}

static_assert(holds_for_enumerators_only<RequestKind, kKindsEnd>(has_row),
              "each request kind has one row");
// By number: asked for every request that comes.
constexpr auto kPlaces = [] {
  std::array<std::uint8_t, kKindsEnd> places{};
  for (std::size_t k = 0; k < std::size(kRows); ++k) {
    places[static_cast<std::size_t>(kRows[k].kind)] = static_cast<std::uint8_t>(k + 1);
  }
  return places;
}();

}  // namespace

bool reads_replicas(RequestKind kind) {
  switch (kind) {
    case RequestKind::SessionLosses:
    case RequestKind::SnapshotOpen:
    case RequestKind::SnapshotRead:
    case RequestKind::WatchOpen:
    case RequestKind::WatchProgress:
    case RequestKind::LockRead:
    case RequestKind::LockReadList:
    case RequestKind::LockGetAt:
    case RequestKind::SessionDescribe:
    case RequestKind::HolderDescribe:
      return true;
    default:
      return false;
  }
}

std::span<const RequestRow> request_table() {
  return kRows;
}

const RequestRow* find_request(protocol::RequestKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  const std::uint8_t place = number < kKindsEnd ? kPlaces[number] : std::uint8_t{0};
  return place == 0 ? nullptr : &kRows[place - 1];
}

void RequestRouter::on_request(const ClientRequest& came) const {
  if (owners_.limits != nullptr &&
      !owners_.limits->judge().pass(came.connection, came.slot, came.payload)) {
    return;
  }
  protocol::RequestSlot passed = came.slot;
  if (owners_.gate != nullptr && !owners_.gate->pass(came.connection, passed, came.payload)) {
    return;
  }
  const ClientRequest request{came.connection, passed, came.payload, came.prepared, authority()};
  if (owners_.identities != nullptr && !owners_.identities->admits(request)) {
    return;
  }
  const RequestRow* const row = find_request(passed.kind);
  if (owners_.dear != nullptr && row != nullptr && is_dear(*row, request)) {
    owners_.dear->add(request, owners_.service.now_us());
  } else {
    serve(request);
  }
}

void RequestRouter::serve_late(const ClientRequest& request) const {
  protocol::RequestSlot passed = request.slot;
  if (owners_.gate == nullptr || owners_.gate->pass(request.connection, passed, request.payload)) {
    serve({request.connection, passed, request.payload, nullptr, authority()});
  }
}

// Of the request that the gate let pass last.
Authority RequestRouter::authority() const {
  return owners_.gate == nullptr ? Authority{} : owners_.gate->authority();
}

void RequestRouter::serve(const ClientRequest& request) const {
  if (owners_.witness && reads_replicas(request.slot.kind)) {
    if (owners_.service.admit(request)) {
      owners_.service.handlers().node.refuse_stateless(request);
    }
    return;
  }
  if (owners_.audit != nullptr) {
    owners_.audit->on_request_served(request);
  }
  const RequestRow* const row = find_request(request.slot.kind);
  (row == nullptr ? unserved : row->handler)(owners_, request);
}

}  // namespace gcoord::server
