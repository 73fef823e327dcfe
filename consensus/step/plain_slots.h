// Voter slots of a plain row (plain_step.h): its voters in the order of their numbers.
//
// Why: then self, its peers and their liveness have the same slots in every row of a node. On a
// device they are the same for all threads of a block, so that nothing is searched, selected or
// kept per row. How many voters there are is a constant of the code: 3 where nobody says else.
// Contract: `input` has all other voters as its peers, in the order of their numbers, where these
// functions are asked; plain_order says whether that holds. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/step/inbox.h"
#include "consensus/step/shard_table.h"

#include <cstdint>

namespace gcoord::consensus {

inline constexpr std::uint32_t kPlainSlots = 3;

template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline std::uint32_t plain_self_slot(const StepInput& input) {
  std::uint32_t before = 0;
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k + 1 < kVoters; ++k) {
    before += input.peer[k].node < input.self ? 1u : 0u;
  }
  return before;
}

// The peer in a slot that is not `self_slot`.
template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline const PeerLiveness& plain_peer(const StepInput& input,
                                                std::uint32_t self_slot,
                                                std::uint32_t slot) {
  if constexpr (kVoters == 3) {
    return slot == 0 || (slot == 1 && self_slot == 0) ? input.peer[0] : input.peer[1];
  } else {
    return input.peer[slot < self_slot ? slot : slot - 1];
  }
}

template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline NodeId plain_node(const StepInput& input, std::uint32_t slot) {
  const std::uint32_t self_slot = plain_self_slot<kVoters>(input);
  return slot == self_slot ? input.self : plain_peer<kVoters>(input, self_slot, slot).node;
}

// The slot of peer k.
GCOORD_HD constexpr std::uint32_t plain_peer_slot(std::uint32_t self_slot, std::uint32_t k) {
  return k + (k >= self_slot ? 1 : 0);
}

// The names of the peers.
template <std::uint32_t kVoters = kPlainSlots>
struct PlainPeers {
  NodeId node[kVoters - 1];
};

template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline PlainPeers<kVoters> plain_peers(const StepInput& input) {
  if constexpr (kVoters == 3) {
    return {{input.peer[0].node, input.peer[1].node}};
  } else {
    PlainPeers<kVoters> peers;
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k + 1 < kVoters; ++k) {
      peers.node[k] = input.peer[k].node;
    }
    return peers;
  }
}

// Which peer a node is, and whether it is one; the last one where it is none. Without a branch,
// which is what a device waits for in a step.
struct PlainMatch {
  std::uint32_t peer;
  bool known;
};

template <std::uint32_t kVoters>
GCOORD_HD inline PlainMatch match_plain_peer(const PlainPeers<kVoters>& peers, NodeId node) {
  if constexpr (kVoters == 3) {
    const bool first = peers.node[0] == node;
    const bool known = first | (peers.node[1] == node);
    return {first ? 0u : 1u, known};
  } else {
    PlainMatch match{kVoters - 2, false};
    GCOORD_UNROLL
    for (std::uint32_t k = 0; k + 1 < kVoters; ++k) {
      const bool here = peers.node[k] == node;
      match.peer = here ? k : match.peer;
      match.known = match.known | here;
    }
    return match;
  }
}

// The record of a node, if it is one of the peers.
template <std::uint32_t kVoters>
GCOORD_HD inline Found<PeerLiveness> find_plain_peer(const StepInput& input,
                                                     const PlainPeers<kVoters>& peers,
                                                     NodeId node) {
  const PlainMatch match = match_plain_peer(peers, node);
  return Found<PeerLiveness>(input.peer[match.peer], match.known);
}

// The slot of a node of a plain row; kSlotNone: it has none.
template <std::uint32_t kVoters>
GCOORD_HD inline std::uint8_t plain_slot_of(const StepInput& input,
                                            const PlainPeers<kVoters>& peers,
                                            std::uint32_t self_slot,
                                            NodeId node) {
  const PlainMatch match = match_plain_peer(peers, node);
  const std::uint32_t peer_slot = plain_peer_slot(self_slot, match.peer);
  const std::uint32_t other = match.known ? peer_slot : kSlotNone;
  return static_cast<std::uint8_t>(node == input.self ? self_slot : other);
}

// Whether a row and its node's peers stand in that order.
template <std::uint32_t kVoters = kPlainSlots>
GCOORD_HD inline bool plain_order(ShardRef row, const StepInput& input) {
  if (input.peer_count + 1 != kVoters) {
    return false;
  }
  bool plain = row.hot().self_slot == plain_self_slot<kVoters>(input);
  GCOORD_UNROLL
  for (std::uint32_t k = 0; k + 2 < kVoters; ++k) {
    plain = plain && input.peer[k].node < input.peer[k + 1].node;
  }
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    plain = plain && row.configuration().node[slot] == plain_node<kVoters>(input, slot);
  }
  return plain;
}

}  // namespace gcoord::consensus
