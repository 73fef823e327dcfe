// The replicated log of a node, with the turn that its options ask for: on the host, or resident.
//
// Before the start counts as an incarnation of the data directory, all addresses that the node will
// listen on are tested (listen_probe.h).
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/evidence/vote_watch.h"
#include "server/gpu_guard/open.h"
#include "server/identities/node_identities.h"
#include "server/interfaces/replicated_log.h"
#include "server/interfaces/state_machine.h"
#include "server/lock_service/lock_service.h"
#include "server/node/ledger_stack.h"
#include "server/options/options.h"
#include "server/peers/device_links.h"
#include "server/replicas/options.h"
#include "server/resident/trace/sightings.h"
#include "server/trust/node_trust.h"

#include <functional>
#include <memory>

namespace gcoord::server {

// For the links to the other nodes; the log goes by the trust until it ends.
struct Links {
  std::unique_ptr<UserDirectory> users;
  std::unique_ptr<NodeTrust> trust;
  std::unique_ptr<NodeIdentities> identities;
  std::unique_ptr<DeviceLinks> device;
  std::unique_ptr<VoteWatch> votes;  // The engine calls it.
  std::unique_ptr<GpuGuard> gpu;     // nullptr: there is no GPU to watch.
};

// What the log needs beside the node's options; `options.before_start` is set here. machine and
// metrics outlive the log.
struct EngineParts {
  ReplicaOptions options;
  StateMachine& machine;
  MetricsRegistry& metrics;
  // Whether all nodes of the cluster are known to have it now.
  std::function<bool(protocol::Feature)> nodes_have;
  LockService& service;                                 // Threads may go by its tables and time.
  std::function<void(const TurnSighting&)> sight = {};  // As ResidentReplicasOptions.
};

// Errors: those of HostReplicas::open and ResidentReplicas::open, and ListenFailed.
Result<std::unique_ptr<ReplicatedLog>> open_engine(const NodeOptions& options, EngineParts parts);

// The watch over votes; it begins with start_votes(). The registry outlives it.
std::unique_ptr<VoteWatch> make_votes(const NodeOptions& options, MetricsRegistry& metrics);

// What the watch over votes needs; all outlive the last turn.
struct VoteSources {
  ReplicatedLog& engine;
  LedgerStack& ledger;
  const LockService& service;
};

// Begins to sign and to watch votes. The engine is open, and the ledger has started.
void start_votes(VoteWatch& votes, const VoteSources& sources);

}  // namespace gcoord::server
