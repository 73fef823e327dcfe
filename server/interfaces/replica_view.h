// Read-only views of an engine: one shard, the whole node, one transition. Values, not references.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "consensus/step/configuration.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"
#include "consensus/step/stepper.h"
#include "ledger/base/lsn.h"
#include "netcore/peers/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

// One shard's replica on this node. Indices as in the Raft paper; durable: known to be on stable
// storage here; floor: entries up to here are held as service state only.
struct ShardView {
  ShardId shard;
  consensus::Role role = consensus::Role::Follower;
  Term term;
  NodeId vote;
  NodeId leader;  // 0: none known.
  LogIndex last;
  LogIndex commit;
  LogIndex applied;
  LogIndex durable;
  LogIndex floor;
  consensus::Configuration configuration;
  // Leads and may answer linearizable reads at the moment of the look without asking anybody; or,
  // where leases are not timed (replicated_log.h), led a moment ago.
  bool lease = false;
};

// Where a node's turn runs.
enum class NodeTurn : std::uint8_t {
  Host,      // In the node's loop; its rows may lie on a device.
  Resident,  // On the device, or in its twin on the host (resident_replicas.h).
};

struct NodePeerView {
  netcore::PeerStatus link;
  bool live = false;  // Both directions of the liveness word are fresh.
  Tick heard;         // Local tick of the newest heartbeat; 0: none in this life.
  // 1000 times how much it is suspected (membership/failure_detector.h); none where the turn is
  // resident, whose host does not see heartbeats.
  std::optional<std::uint32_t> phi_milli;
};

// This node. Counts are of this node's replicas.
struct NodeView {
  ClusterId cluster;
  NodeId node;
  Incarnation incarnation;
  std::uint64_t directory_id = 0;
  std::uint32_t shard_count = 0;
  std::uint32_t leader_count = 0;  // Shards led here.
  Tick tick;
  Tick vote_after;  // Before this tick the node neither votes nor campaigns.
  ledger::Lsn submitted_lsn;
  ledger::Lsn durable_lsn;
  ledger::Lsn checkpoint_lsn;  // Covered by the newest checkpoint.
  std::uint64_t checkpoint_count = 0;
  std::uint64_t entry_bytes = 0;  // Memory held by log entries.
  consensus::StepperReport stepper;
  // Whether every node has admitted this node's directory once (engine_admission.h).
  bool established = true;
  std::string stepper_why;  // Why it is this one, for the operator.
  NodeTurn turn = NodeTurn::Host;
  consensus::Durability durability = consensus::Durability::Durable;
  // Whether this node comes back without an earlier data directory of its own.
  bool rejoining = false;
  // Whether its ledger is bounded by default (ledger/directory/identity_file.h).
  bool ledger_bounded = false;
  // Whether the next three mean anything: in memory mode, and once a directory was replaced.
  bool readmits = false;
  // Shards in which this node votes, those in which it has forgotten what it promised, and those
  // for which it knows no leader.
  std::uint32_t voting_count = 0;
  std::uint32_t forgotten_count = 0;
  std::uint32_t unled_count = 0;
  std::uint64_t led_anew = 0;  // How often a shard without a known leader came to have one.
  std::vector<NodePeerView> peers;
};

// A row before and after one step differ. Trace lines are made of these
// (docs/reference/machine_interfaces.md).
struct ShardTransition {
  NodeId node;
  ShardId shard;
  Tick tick;
  Term term;
  NodeId vote;
  NodeId leader;
  consensus::Role role = consensus::Role::Follower;
  consensus::Cause cause = consensus::Cause::None;
  LogIndex last;
  LogIndex commit;
  LogIndex applied;
  LogIndex durable;
  std::uint64_t state_hash = 0;  // Of the service's state at `applied`.
};

}  // namespace gcoord::server
