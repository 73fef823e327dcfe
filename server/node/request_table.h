// The table of request kinds: for each its owner, its handler, whether only a leader serves it, and
// what it costs; and the router that follows the table.
//
// A new kind is a row here; the compiler refuses a table that lacks one (request_table.cc). The
// rights that a kind takes are in server/rights/demand_table.h, which is whole in the same way; the
// gate judges them before any handler sees the request. Whether a leader is needed is judged by the
// handlers, since the order of refusals differs by kind; the column states it for readers and
// gateways, and a test compares. The table is constant; the router is of the node's loop.
#pragma once

#include "protocol/request.h"
#include "server/identities/identity_requests.h"
#include "server/requests/client_request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace gcoord::server {

class AlarmRequests;
class DearRequests;
class LedgerPruning;
class LockService;
class HistoricalReads;
class LogLevelRequests;
class NodeLimits;
class NodeAccess;
class NodeAudit;
class NodeMembers;
class RequestGate;
class SnapshotDownloads;
class WatchHub;

// The part of a node that serves a kind.
enum class RequestOwner : std::uint8_t {
  FrontEnd,    // The connection's greeting; as a request it is a mistake of the client.
  Locks,       // lock_requests.h
  Holders,     // holder_requests.h
  Sessions,    // session_requests.h
  Reads,       // read_requests.h
  Node,        // node_requests.h
  Snapshots,   // server/snapshots/downloads.h
  Ledger,      // ledger_pruning.h
  Watches,     // server/watch/hub.h
  Past,        // server/reads/historical_reads.h
  Log,         // server/log/level_requests.h
  Groups,      // server/groups/group_requests.h, server/rendezvous
  Members,     // server/members/view_requests.h
  Alarms,      // server/detector/alarm_requests.h
  Access,      // server/access/node_access.h
  Identities,  // server/identities/identity_requests.h
  Audit,       // server/audit/node_audit.h
  Limits,      // server/limits/node_limits.h
};

// What a request may cost the node, beside what the client pays for sending it.
enum class RequestCost : std::uint8_t {
  Cheap,  // Some microseconds, or as much as its own bytes: it is served when it comes.
  Dear,   // Rows or shards by the thousand, files, history: it waits for its turn.
};

// The owners in a node. The parts beside the lock service may be absent, in tests and in the
// simulator: then nobody serves their kinds.
struct RequestOwners {
  LockService& service;
  SnapshotDownloads* snapshots = nullptr;
  LedgerPruning* pruning = nullptr;
  WatchHub* watches = nullptr;
  HistoricalReads* past = nullptr;
  LogLevelRequests* log = nullptr;
  NodeMembers* members = nullptr;
  NodeAccess* access = nullptr;
  NodeAudit* audit = nullptr;  // Also hears of each request that is served.
  AlarmRequests* alarms = nullptr;
  IdentityRequests* identities = nullptr;
  std::function<std::uint64_t()> now_ms;  // Of the node's clock, for `past`.
  DearRequests* dear = nullptr;           // Without it dear requests are served when they come.
  bool witness = false;                   // The node has no state to answer from.
  RequestGate* gate = nullptr;            // Without it every client may make every request.
  NodeLimits* limits = nullptr;           // Without it as often as it likes.
};

using RequestHandler = void (*)(const RequestOwners& owners, const ClientRequest& request);

struct RequestRow {
  protocol::RequestKind kind{};
  RequestOwner owner = RequestOwner::FrontEnd;
  RequestHandler handler = nullptr;
  // Only the leader of the request's shard serves it; any other node names the leader.
  bool needs_leader = false;
  RequestCost cost = RequestCost::Cheap;
};

// Whether any node serves the kind from its own replicas: a witness, which has none, refuses it.
// What else takes state only leaders serve.
bool reads_replicas(protocol::RequestKind kind);

// All rows.
std::span<const RequestRow> request_table();

// The row of a kind; nullptr for a number outside the enum.
const RequestRow* find_request(protocol::RequestKind kind);

class RequestRouter {
 public:
  // What is there outlives the router.
  explicit RequestRouter(RequestOwners owners) : owners_(std::move(owners)) {}

  // A checked frame's request of a client that was welcomed; its authority is filled in here.
  // Answered now or later.
  void on_request(const ClientRequest& request) const;

  // The same, where its turn has come: judged again, since rights may have gone meanwhile.
  void serve_late(const ClientRequest& request) const;

 private:
  void serve(const ClientRequest& request) const;
  Authority authority() const;

  RequestOwners owners_;
};

}  // namespace gcoord::server
