// Options of one simulated run. Everything else follows from the seed.
#pragma once

#include "chaos/mutants/mutant.h"
#include "consensus/step/inbox.h"

#include <cstdint>

namespace gcoord::chaos {

struct SimOptions {
  std::uint64_t seed = 1;
  std::uint32_t node_count = 3;
  std::uint32_t shard_count = 16;
  std::uint32_t chaos_ticks = 1500;  // Faults and load.
  std::uint32_t heal_ticks = 1200;   // No faults: every shard must converge within this time.

  // A short election timeout makes many elections; the margin covers the drift below and the grain
  // of the clocks: (34 + 1) * 1.04 <= (40 - 1) * 0.96.
  consensus::Timing timing{
      .election_ticks = 40, .resend_ticks = 4, .stagger_ticks = 2, .lease_margin_ticks = 6};
  std::uint32_t drift_ppm = 40'000;
  // False: the drift is beyond the margin, and the reads that trust a lease are not judged, nor
  // leases. All else holds whatever clocks do.
  bool leases_judged = true;

  // Chances per million, drawn once per tick for the whole world.
  std::uint32_t partition_ppm = 12'000;
  std::uint32_t heal_ppm = 20'000;
  std::uint32_t restart_ppm = 8'000;
  std::uint32_t pause_ppm = 8'000;
  std::uint32_t power_loss_ppm = 500;  // All nodes at once.
  // A leader is cut off: all others restart, or it was handing over what it leads.
  std::uint32_t leader_cut_ppm = 3'000;
  std::uint32_t reconfigure_ppm = 10'000;
  std::uint32_t transfer_ppm = 20'000;

  // Memory: a process that ends takes everything with it but checkpoints. Then a crash that would
  // leave some shard without a quorum that remembers is drawn this much more rarely.
  consensus::Durability durability = consensus::Durability::Durable;
  std::uint32_t fatal_crash_ppm = 30'000;
  // Durable mode: chances that a node's disk is lost, or is an old image of itself, and comes back
  // as the next generation (docs/adr/0025); where that would leave some shard without a quorum that
  // remembers, it is drawn as rarely as fatal crashes. 0: disks last.
  std::uint32_t lost_disk_ppm = 0;
  std::uint32_t old_image_ppm = 0;
  // Of the nodes, so many begin outside of every shard, as nodes do that join.
  std::uint32_t spare_count = 0;
  // The cluster wants other members, and nodes hear of it at different times. 0: never; then the
  // leaders move nothing.
  std::uint32_t members_ppm = 0;
  // This node is a witness, where nodes do not forget: by the loss of a disk a shard could be left
  // to a witness. 0: none is.
  NodeId witness;
  Mutant mutant = Mutant::None;  // Of the step or of members only.
  // Nodes that forgot do not know it: what must never be.
  bool forgets_unawares = false;

  // Whether nodes may forget what they promised.
  bool lives_end() const {
    return durability == consensus::Durability::Memory || lost_disk_ppm + old_image_ppm != 0;
  }

  bool is_witness(NodeId node) const {
    return witness.value != 0 && node == witness && !lives_end();
  }
};

// Durable mode in which disks are lost, some twenty in a run.
inline void lose_disks(SimOptions& options) {
  options.lost_disk_ppm = 6'000;
  options.old_image_ppm = 6'000;
}

// Members come and go, some dozen times in a run: as the nodes of a view do, by members_plan.h. In
// every third world one of those that come is a witness.
inline void change_members(SimOptions& options) {
  options.spare_count = options.node_count < 5 ? 3 : consensus::kReplicaSlots - options.node_count;
  options.node_count += options.spare_count;
  options.members_ppm = 8'000;
  options.reconfigure_ppm = 0;
  options.witness = NodeId{options.seed % 3 == 1 ? options.node_count : 0};
}

// The shape of a run follows from its seed, so that a range of seeds covers many shapes: 3 to 6
// nodes.
inline SimOptions options_of_seed(std::uint64_t seed, consensus::Durability durability = {}) {
  SimOptions options;
  options.seed = seed;
  options.node_count = 3 + (seed % 3 == 0 ? 2u : 0u) + (seed % 17 == 0 ? 1u : 0u);
  options.durability = durability;
  return options;
}

// How often each kind of fault and of load happened.
struct SimCounts {
  std::uint64_t steps = 0;
  std::uint64_t proposals = 0;
  std::uint64_t reads = 0;
  std::uint64_t quorum_reads = 0;  // Of these, answered by a round that no lease could spare.
  std::uint64_t partitions = 0;
  std::uint64_t restarts = 0;
  std::uint64_t pauses = 0;
  std::uint64_t power_losses = 0;
  std::uint64_t majority_restarts = 0;  // While the leader was cut off.
  std::uint64_t transfer_cuts = 0;      // The old leader was cut off while it handed over.
  std::uint64_t lost_disks = 0;
  std::uint64_t old_images = 0;
  std::uint64_t reconfigurations = 0;
  std::uint64_t transfers = 0;
  std::uint64_t targets = 0;           // Other members were wanted.
  std::uint64_t member_changes = 0;    // Configurations proposed for it,
  std::uint64_t member_transfers = 0;  // and leaderships handed over.
  std::uint64_t checkpoints = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t mute_steps = 0;  // Of leaders whose log had no room for their term.
  // Where nodes forget: voters made learners, learners of an earlier life made learners again, and
  // voters again; shards that too many nodes had forgotten in the end.
  std::uint64_t demotions = 0;
  std::uint64_t anchors = 0;
  std::uint64_t promotions = 0;
  std::uint64_t shards_lost = 0;
};

}  // namespace gcoord::chaos
