// Configuration of a shard: voters with weights, learners, and the two halves of a joint
// configuration.
//
// A configuration is a value that travels in the log, takes effect when its entry is applied, and
// numbers the replicas: slot k of a shard means the same node on every replica that applied the
// same entry. Two consecutive configurations are simple -> joint -> simple (Ongaro, Consensus:
// Bridging Theory and Practice, 2014, section 4.3); a change that touches one voter may skip the
// joint step (section 4.1). Plain data; host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "common/ids.h"

#include <cstdint>

namespace gcoord::consensus {

// Replicas of one shard at most, the old and the new half of a joint configuration and learners
// together. Seven voters is the largest group that etcd and ZooKeeper advise; one more lets a
// member be replaced.
inline constexpr std::uint32_t kReplicaSlots = 8;

// "No slot."
inline constexpr std::uint8_t kSlotNone = 0xff;

// One bit per slot.
using SlotMask = std::uint8_t;

GCOORD_HD constexpr SlotMask slot_bit(std::uint32_t slot) {
  return static_cast<SlotMask>(1u << slot);
}

GCOORD_HD constexpr bool has_slot(SlotMask mask, std::uint32_t slot) {
  return (mask >> slot & 1u) != 0;
}

// 48 bytes, part of the log and of checkpoints: never reorder.
struct Configuration {
  NodeId node[kReplicaSlots];            // 0: the slot is free.
  std::uint8_t weight[kReplicaSlots]{};  // Votes of the slot's node where it is a voter; at least 1
                                         // for a voter.
  SlotMask voters = 0;                   // The incoming (or only) half.
  SlotMask voters_outgoing = 0;          // The outgoing half; 0 unless joint.
  SlotMask learners = 0;                 // Receive the log, do not vote.
  // Voters of the outgoing half that become learners when the joint step ends.
  SlotMask learners_next = 0;
  // 1: the leader leaves the joint configuration by itself once it is applied.
  std::uint8_t auto_leave = 0;
  std::uint8_t reserved[3]{};

  GCOORD_HD bool joint() const { return voters_outgoing != 0; }

  GCOORD_HD SlotMask voters_either() const {
    return static_cast<SlotMask>(voters | voters_outgoing);
  }

  GCOORD_HD SlotMask members() const {
    return static_cast<SlotMask>(voters | voters_outgoing | learners);
  }
};

static_assert(sizeof(Configuration) == 48);

// The slot of a node, or kSlotNone.
GCOORD_HD inline std::uint8_t slot_of(const Configuration& configuration, NodeId node) {
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (node.value != 0 && configuration.node[slot] == node) {
      return static_cast<std::uint8_t>(slot);
    }
  }
  return kSlotNone;
}

// Slots that a row needs for the configuration: all up to its last member.
GCOORD_HD inline std::uint32_t slots_of(const Configuration& configuration) {
  std::uint32_t count = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    count = has_slot(configuration.members(), slot) ? slot + 1 : count;
  }
  return count;
}

// Whether a configuration that came from outside may be used: distinct nodes in exactly the member
// slots, weights for voters, no learner that votes, pending learners only from the outgoing half,
// members within slot_count.
GCOORD_HD inline bool well_formed(const Configuration& configuration, std::uint32_t slot_count) {
  const SlotMask members = configuration.members();
  if (configuration.voters == 0 || (configuration.learners & configuration.voters_either()) != 0) {
    return false;
  }
  if ((configuration.learners_next & ~configuration.voters_outgoing) != 0 ||
      (configuration.learners_next & configuration.voters) != 0) {
    return false;
  }
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool member = has_slot(members, slot);
    if (member != (configuration.node[slot].value != 0) || (member && slot >= slot_count)) {
      return false;
    }
    if (has_slot(configuration.voters_either(), slot) && configuration.weight[slot] == 0) {
      return false;
    }
    if (member && slot_of(configuration, configuration.node[slot]) != slot) {
      return false;
    }
  }
  return true;
}

// The simple configuration that ends a joint one: the incoming voters, old and pending learners;
// freed slots are empty.
GCOORD_HD inline Configuration leave_joint(const Configuration& joint) {
  Configuration simple = joint;
  simple.voters_outgoing = 0;
  simple.learners = static_cast<SlotMask>(joint.learners | joint.learners_next);
  simple.learners_next = 0;
  simple.auto_leave = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (!has_slot(simple.members(), slot)) {
      simple.node[slot] = NodeId{};
      simple.weight[slot] = 0;
    }
  }
  return simple;
}

GCOORD_HD inline std::uint32_t count_slots(SlotMask mask) {
  std::uint32_t count = 0;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    count += has_slot(mask, slot) ? 1 : 0;
  }
  return count;
}

// Whether `after` may follow `before` in one log entry: into a joint configuration that keeps the
// present voters as its outgoing half, out of one exactly by leave_joint, or a simple change of at
// most one equally weighted voter, or of weights alone. Whether the quorums of both meet is
// quorums_meet's (quorum.h).
GCOORD_HD inline bool may_follow(const Configuration& before, const Configuration& after) {
  const bool reweighs = !before.joint() && !after.joint() && before.voters == after.voters;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool kept = has_slot(before.members(), slot) && has_slot(after.members(), slot);
    if (kept && before.node[slot] != after.node[slot]) {
      return false;
    }
    const bool voted =
        has_slot(before.voters_either(), slot) && has_slot(after.voters_either(), slot);
    if (voted && before.weight[slot] != after.weight[slot] && !reweighs) {
      return false;
    }
  }
  if (before.joint()) {
    const Configuration left = leave_joint(before);
    return !after.joint() && after.voters == left.voters && after.learners == left.learners;
  }
  if (after.joint()) {
    return after.voters_outgoing == before.voters;
  }
  const auto changed = static_cast<SlotMask>(before.voters ^ after.voters);
  return count_slots(changed) <= 1;
}

}  // namespace gcoord::consensus
