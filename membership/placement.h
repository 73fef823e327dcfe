// Placement of leaders: which node should lead a shard, whether a node leads more than its share,
// and how many shards it hands over at once.
//
// Every shard prefers one of its voters, in turn by shard number, the same that campaigns first
// (consensus/step/step_row.h, campaign_order) while no member has left. All of it is arithmetic
// over a configuration and counts; who asks and who transfers is server/peers/leader_balance.h.
// Pure functions; host and device.
#pragma once

#include "common/hd.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"

#include <cstdint>

namespace gcoord::membership {

// Whether the slot has a learner that is on its way back to being a voter.
GCOORD_HD inline bool returns(const consensus::Configuration& configuration, std::uint32_t slot) {
  return consensus::has_slot(configuration.learners, slot) && configuration.weight[slot] != 0;
}

// Voters, and learners that are on their way back to being one (consensus/step/readmission_plan.h):
// who should lead what does not change while a restarted node is re-admitted.
GCOORD_HD inline std::uint32_t elector_count(const consensus::Configuration& configuration) {
  std::uint32_t count = consensus::count_slots(configuration.voters_either());
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    count += returns(configuration, slot) ? 1u : 0u;
  }
  return count;
}

// The node that should lead the shard: 0 if the configuration names none.
GCOORD_HD inline NodeId preferred_leader(const consensus::Configuration& configuration,
                                         ShardId shard) {
  const std::uint32_t count = elector_count(configuration);
  if (count == 0) {
    return NodeId{0};
  }
  std::uint32_t skip = shard.value % count;  // Slots may have holes, where nodes have left.
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
    const bool voter = consensus::has_slot(configuration.voters_either(), slot);
    if ((voter || returns(configuration, slot)) && skip-- == 0) {
      return voter ? configuration.node[slot] : NodeId{0};
    }
  }
  return NodeId{0};
}

// How many shards of how many each node should lead, rounded up.
GCOORD_HD constexpr std::uint64_t fair_share(std::uint32_t shard_count, std::uint64_t node_count) {
  return (shard_count + node_count - 1) / node_count;
}

// A node keeps a twentieth more than its share: shards do not divide evenly, and elections go on.
GCOORD_HD constexpr bool leads_too_much(std::uint32_t leader_count,
                                        std::uint32_t shard_count,
                                        std::uint64_t node_count) {
  const std::uint64_t share = fair_share(shard_count, node_count);
  return leader_count > share + share / 20;
}

// Shards handed over by one sweep at first: a tenth of a second of elections on two cores. Twice
// as many by the next one where all were taken over meanwhile, half as many where they were not.
inline constexpr std::uint32_t kTransfersFirst = 4096;
inline constexpr std::uint32_t kTransfersMost = 32768;

// Of the sweep before: how many shards it was allowed and handed over, and how many the node does
// not lead any more.
struct HandoverResult {
  std::uint32_t allowed = kTransfersFirst;
  std::uint32_t handed_over = 0;
  std::uint32_t gone = 0;
};

// How many the next one may hand over. A node that hands over as many as it may, and has lost them
// all a second later, may hand over more: how fast others take over is theirs to show.
GCOORD_HD constexpr std::uint32_t next_allowance(const HandoverResult& last) {
  if (last.handed_over == 0) {
    return last.allowed;
  }
  if (last.gone < last.handed_over / 2) {
    return last.allowed / 2 > kTransfersFirst ? last.allowed / 2 : kTransfersFirst;
  }
  if (last.gone >= last.handed_over && last.handed_over == last.allowed) {
    return last.allowed * 2 < kTransfersMost ? last.allowed * 2 : kTransfersMost;
  }
  return last.allowed;
}

}  // namespace gcoord::membership
