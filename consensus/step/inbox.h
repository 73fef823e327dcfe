// Inputs of one step of one shard besides its row: the inbox and the step input.
#pragma once

#include "common/found.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "consensus/step/liveness.h"
#include "consensus/step/message.h"

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

// What a read round takes for a proof that this replica still leads.
enum class ReadProof : std::uint8_t {
  LeaseOrRound = 0,  // The leader's lease while it is valid, which trusts clocks; else a round.
  Round = 1,         // A quorum's answers to messages that left after the round was opened.
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
  ReadProof read_proof = ReadProof::LeaseOrRound;  // Of the round read_sequence.
  LogIndex configuration_index;                    // Applied: index of the entry.
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

// What an acknowledgement means, on all nodes of a cluster. Never renumber: greetings carry it.
enum class Durability : std::uint8_t {
  Durable = 0,  // On the stable storage of a quorum.
  Memory = 1,   // In the memory of a quorum: a replica that restarts has forgotten its promises.
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
  Incarnation incarnation;  // The node's present one.
  Durability durability = Durability::Durable;
  // 1: no earlier life of this node made a promise that anybody counts, so its rows have nothing to
  // forget once they may vote.
  std::uint8_t first_life = 0;
  // 1: in durable mode, too, there may be replicas here or at peers that have forgotten what they
  // promised, because a data directory was replaced.
  std::uint8_t lives_end = 0;
  // 1: a configuration counts once it is decided, whether or not storage knows that it is. For
  // owners that keep rows packed, where a row that waits would have no place (docs/adr/0132).
  std::uint8_t decided_at_once = 0;
  // 1: this node is a witness, for its whole life: it votes and has the log, and never campaigns.
  std::uint8_t witness = 0;
};

GCOORD_HD inline bool in_memory_mode(const StepInput& input) {
  return input.durability == Durability::Memory;
}

// Whether the rules of readmission.h are in force.
GCOORD_HD inline bool lives_can_end(const StepInput& input) {
  return in_memory_mode(input) || input.lives_end != 0;
}

// The record of a node, if it is one of ours.
GCOORD_HD inline Found<PeerLiveness> find_peer(const StepInput& input, NodeId node) {
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k < input.peer_count; ++k) {
    if (input.peer[k].node == node) {
      return Found<PeerLiveness>(input.peer[k]);
    }
  }
  return {};
}

}  // namespace gcoord::consensus
