// Everything one step of one shard may look at besides its row: the inbox and the step input.
#pragma once

#include "common/ids.h"
#include "consensus/configuration.h"
#include "consensus/liveness.h"
#include "consensus/message.h"

#include <cstdint>

namespace gcoord::consensus {

// Messages that one step folds in; more wait for the next step of the same turn.
inline constexpr std::uint32_t kInboxMessages = 8;

// Storage finished the request under way. It repeats what the request said (outbox.h).
struct StorageAck {
  Term term;
  NodeId vote;
  std::uint32_t present = 0;  // 0: no acknowledgement in this inbox.
};

// What the Configuration in the inbox is.
enum class ConfigurationInput : std::uint8_t {
  None = 0,
  Proposed = 1,   // Leader: append this as an entry.
  Applied = 2,    // The entry at configuration_index was applied and says this.
  Installed = 3,  // Belongs to the Snapshot message in this inbox.
};

// One row of input apart from its arrays, which need not lie beside it (step_row.h): plain fields,
// which a device keeps in registers. The owner clears it, fills it and does not change it during
// the step.
struct InboxHead {
  std::uint32_t message_count = 0;
  std::uint32_t proposal_count = 0;  // Commands that ask for a place in the log.
  // Opens a read round of this number; rises, never reused; 0: none.
  std::uint64_t read_sequence = 0;
  LogIndex applied;     // ApplyRequest done up to here; 0: no news.
  LogIndex compact_to;  // Entries up to here may be forgotten (<= applied); 0: no wish.
  StorageAck storage_ack;
  NodeId transfer_to;         // Leader: hand over to this voter; 0: no wish.
  NodeId snapshot_failed;     // The snapshot for this node could not be sent; 0: none.
  std::uint8_t campaign = 0;  // Campaign now (operator or test), by pre-vote as ever.
  std::uint8_t woken = 0;     // A bulk wake: a peer's liveness changed, or the row was stalled.
  ConfigurationInput configuration_input = ConfigurationInput::None;
  std::uint8_t reserved = 0;
  LogIndex configuration_index;  // Applied: index of the entry.
};

// One row of input as an owner on the host keeps it.
struct Inbox : InboxHead {
  Configuration configuration;      // What configuration_input says it is.
  Message message[kInboxMessages];  // Any order; only the first message_count are meant.
};

// Cluster-wide limits of the step.
struct StepLimits {
  std::uint32_t window_entries = 1024;  // Unacknowledged entries in flight to one peer.
  // A leader accepts no proposal beyond this many uncommitted ones.
  std::uint32_t uncommitted_entries = 4096;
  std::uint32_t message_entries = 48;  // Entries of one Append.
};

// What is the same for all shards of a node in one step. `peer` points to peer_count records that
// outlive the step.
struct StepInput {
  Tick tick;
  std::uint64_t seed = 0;  // Names the random numbers of this node.
  NodeId self;
  Tick vote_after;  // Before this tick the node neither votes nor campaigns: it has just restarted.
  Timing timing;
  StepLimits limits;
  // Not 0: storage is the owner's memory, and a StorageRequest needs no acknowledgement.
  std::uint32_t stored_at_once = 0;
  const PeerLiveness* peer = nullptr;
  std::uint32_t peer_count = 0;
};

// The record of a node, or nullptr if it is none of ours.
GCOORD_HD inline const PeerLiveness* find_peer(const StepInput& input, NodeId node) {
  for (std::uint32_t k = 0; k < input.peer_count; ++k) {
    if (input.peer[k].node == node) {
      return &input.peer[k];
    }
  }
  return nullptr;
}

}  // namespace gcoord::consensus
