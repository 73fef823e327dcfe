// Voter slots of a plain row (plain_step.h): three voters in the order of their numbers.
//
// Why: then self, its peers and their liveness have the same slots in every row of a node. On a
// device they are the same for all threads of a block, so that nothing is searched, selected or
// kept per row.
// Contract: `input` has two peers in the order of their numbers where these functions are asked;
// plain_order says whether that holds. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/step/inbox.h"
#include "consensus/step/shard_table.h"

#include <cstdint>

namespace gcoord::consensus {

inline constexpr std::uint32_t kPlainSlots = 3;

GCOORD_HD inline std::uint32_t plain_self_slot(const StepInput& input) {
  std::uint32_t before = 0;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k + 1 < kPlainSlots; ++k) {
    before += input.peer[k].node < input.self ? 1u : 0u;
  }
  return before;
}

// The peer in a slot that is not `self_slot`.
GCOORD_HD inline const PeerLiveness& plain_peer(const StepInput& input,
                                                std::uint32_t self_slot,
                                                std::uint32_t slot) {
  return slot == 0 || (slot == 1 && self_slot == 0) ? input.peer[0] : input.peer[1];
}

GCOORD_HD inline NodeId plain_node(const StepInput& input, std::uint32_t slot) {
  const std::uint32_t self_slot = plain_self_slot(input);
  return slot == self_slot ? input.self : plain_peer(input, self_slot, slot).node;
}

// The slot of peer k.
GCOORD_HD constexpr std::uint32_t plain_peer_slot(std::uint32_t self_slot, std::uint32_t k) {
  return k + (k >= self_slot ? 1 : 0);
}

// The names of the two peers.
struct PlainPeers {
  NodeId node[kPlainSlots - 1];
};

GCOORD_HD inline PlainPeers plain_peers(const StepInput& input) {
  return {{input.peer[0].node, input.peer[1].node}};
}

// The record of a node, if it is one of the peers: without a branch, which is what a device waits
// for in a step.
GCOORD_HD inline Found<PeerLiveness> find_plain_peer(const StepInput& input,
                                                     const PlainPeers& peers,
                                                     NodeId node) {
  const bool first = peers.node[0] == node;
  const bool known = first | (peers.node[1] == node);
  return Found<PeerLiveness>(input.peer[first ? 0 : 1], known);
}

// The slot of a node of a plain row; kSlotNone: it has none.
GCOORD_HD inline std::uint8_t plain_slot_of(const StepInput& input,
                                            const PlainPeers& peers,
                                            std::uint32_t self_slot,
                                            NodeId node) {
  const bool first = peers.node[0] == node;
  const bool known = first | (peers.node[1] == node);
  const std::uint32_t peer_slot = plain_peer_slot(self_slot, first ? 0 : 1);
  const std::uint32_t other = known ? peer_slot : kSlotNone;
  return static_cast<std::uint8_t>(node == input.self ? self_slot : other);
}

// Whether a row and its node's peers stand in that order.
GCOORD_HD inline bool plain_order(ShardRef row, const StepInput& input) {
  if (input.peer_count + 1 != kPlainSlots) {
    return false;
  }
  bool plain =
      input.peer[0].node < input.peer[1].node && row.hot().self_slot == plain_self_slot(input);
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kPlainSlots; ++slot) {
    plain = plain && row.configuration().node[slot] == plain_node(input, slot);
  }
  return plain;
}

}  // namespace gcoord::consensus
