// Quorum arithmetic over weighted, possibly joint configurations.
//
// A half decides when voters of more than half of its total weight agree; a joint configuration
// decides when both of its halves do (Raft thesis, section 4.3; weights: Gifford, Weighted Voting
// for Replicated Data, SOSP 1979). Pure functions; host and device; O(kReplicaSlots^2) with
// constant bounds.
#pragma once

#include "common/ids.h"
#include "consensus/step/configuration.h"

#include <cstdint>

namespace gcoord::consensus {

enum class VoteResult : std::uint8_t { Pending = 0, Won = 1, Lost = 2 };

// Sum of the weights of the slots in `mask`.
GCOORD_HD inline std::uint32_t weight_of(const Configuration& configuration, SlotMask mask) {
  std::uint32_t sum = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    sum += has_slot(mask, slot) ? configuration.weight[slot] : 0u;
  }
  return sum;
}

// One half's verdict. An empty half has nothing against the matter: Won.
GCOORD_HD inline VoteResult half_result(const Configuration& configuration,
                                        SlotMask half,
                                        SlotMask granted,
                                        SlotMask rejected) {
  if (half == 0) {
    return VoteResult::Won;
  }
  const std::uint32_t total = weight_of(configuration, half);
  if (2 * weight_of(configuration, static_cast<SlotMask>(half & granted)) > total) {
    return VoteResult::Won;
  }
  const std::uint32_t reachable =
      total - weight_of(configuration, static_cast<SlotMask>(half & rejected));
  return 2 * reachable > total ? VoteResult::Pending : VoteResult::Lost;
}

// The verdict of both halves: lost as soon as one is lost, won once both are won.
// granted and rejected are disjoint; a configuration without voters is always Lost.
GCOORD_HD inline VoteResult vote_result(const Configuration& configuration,
                                        SlotMask granted,
                                        SlotMask rejected) {
  GCOORD_ASSERT((granted & rejected) == 0);
  if (configuration.voters == 0) {
    return VoteResult::Lost;
  }
  const VoteResult incoming = half_result(configuration, configuration.voters, granted, rejected);
  const VoteResult outgoing =
      half_result(configuration, configuration.voters_outgoing, granted, rejected);
  if (incoming == VoteResult::Lost || outgoing == VoteResult::Lost) {
    return VoteResult::Lost;
  }
  return incoming == VoteResult::Won && outgoing == VoteResult::Won ? VoteResult::Won
                                                                    : VoteResult::Pending;
}

// Whether the slots in `mask` form a quorum by themselves.
GCOORD_HD inline bool is_quorum(const Configuration& configuration, SlotMask mask) {
  return vote_result(configuration, mask, 0) == VoteResult::Won;
}

// Whether all voters weigh the same.
GCOORD_HD inline bool equally_weighted(const Configuration& configuration, std::uint8_t weight) {
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(configuration.voters_either(), slot) && configuration.weight[slot] != weight) {
      return false;
    }
  }
  return true;
}

// Majorities of n and of n + 1 equal voters that share n meet: together they are n + 2 at least.
GCOORD_HD inline bool one_equal_voter_changes(const Configuration& before,
                                              const Configuration& after) {
  const auto changed = static_cast<SlotMask>(before.voters ^ after.voters);
  if (before.joint() || after.joint() || before.voters == 0 || after.voters == 0 ||
      (changed & (changed - 1)) != 0) {
    return false;
  }
  std::uint8_t weight = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    weight = has_slot(before.voters, slot) ? before.weight[slot] : weight;
  }
  return equally_weighted(before, weight) && equally_weighted(after, weight);
}

// Whether `half` is a half of both configurations, with the same weights: then a quorum of each has
// a majority of it, and two majorities meet.
GCOORD_HD inline bool same_half(const Configuration& before,
                                const Configuration& after,
                                SlotMask half) {
  if (half == 0 || (half != after.voters && half != after.voters_outgoing)) {
    return false;
  }
  bool same = true;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    same = same && (!has_slot(half, slot) || before.weight[slot] == after.weight[slot]);
  }
  return same;
}

// Whether every quorum of one configuration meets every quorum of the other, slots meaning the same
// nodes in both. Quorums only grow with their members, so it is enough to hold each set against
// the rest of the slots.
GCOORD_HD inline bool quorums_meet(const Configuration& before, const Configuration& after) {
  if (one_equal_voter_changes(before, after) || same_half(before, after, before.voters) ||
      same_half(before, after, before.voters_outgoing)) {
    return true;  // What nearly every change is, and a thousand times cheaper to see.
  }
  for (std::uint32_t mask = 0; mask < 1u << kReplicaSlots; ++mask) {
    const auto one = static_cast<SlotMask>(mask);
    if (is_quorum(before, one) && is_quorum(after, static_cast<SlotMask>(~one))) {
      return false;
    }
  }
  return true;
}

// The largest value that a quorum of one half has reached, where acknowledged[slot] says how far
// each slot is.
GCOORD_HD inline std::uint64_t half_reached(const Configuration& configuration,
                                            SlotMask half,
                                            const std::uint64_t (&acknowledged)[kReplicaSlots]) {
  const std::uint32_t total = weight_of(configuration, half);
  std::uint64_t best = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const std::uint64_t value = acknowledged[slot];
    if (!has_slot(half, slot) || value <= best) {
      continue;
    }
    SlotMask reached = 0;
    GCOORD_UNROLL
    for (std::uint32_t other = 0; other < kReplicaSlots; ++other) {
      if (has_slot(half, other) && acknowledged[other] >= value) {
        reached = static_cast<SlotMask>(reached | slot_bit(other));
      }
    }
    best = 2 * weight_of(configuration, reached) > total ? value : best;
  }
  return best;
}

// The largest value that a quorum has reached: commit index over match indices, lease base over
// acknowledged ticks. 0 for a configuration without voters.
GCOORD_HD inline std::uint64_t quorum_reached(const Configuration& configuration,
                                              const std::uint64_t (&acknowledged)[kReplicaSlots]) {
  const std::uint64_t incoming = half_reached(configuration, configuration.voters, acknowledged);
  if (!configuration.joint()) {
    return incoming;
  }
  const std::uint64_t outgoing =
      half_reached(configuration, configuration.voters_outgoing, acknowledged);
  return incoming < outgoing ? incoming : outgoing;
}

// The same of the first kVoters slots, which are all voters and weigh the same.
template <std::uint32_t kVoters>
GCOORD_HD inline std::uint64_t equal_voters_reached(
    const std::uint64_t (&acknowledged)[kReplicaSlots]) {
  std::uint64_t best = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kVoters; ++slot) {
    std::uint32_t reached = 0;
    GCOORD_UNROLL
    for (std::uint32_t other = 0; other < kVoters; ++other) {
      reached += acknowledged[other] >= acknowledged[slot] ? 1u : 0u;
    }
    const bool more = (2 * reached > kVoters) & (acknowledged[slot] > best);
    best = more ? acknowledged[slot] : best;
  }
  return best;
}

// The commit index that the match indices of the voters allow, own-term rule apart (Raft, figure 2,
// "Leaders").
GCOORD_HD inline LogIndex committed_index(const Configuration& configuration,
                                          const std::uint64_t (&match)[kReplicaSlots]) {
  return LogIndex{quorum_reached(configuration, match)};
}

}  // namespace gcoord::consensus
