// The one way from a shard's present configuration towards a wanted one: directly where every
// quorum before meets every quorum after, else by a joint configuration that ends by itself
// (Ongaro's thesis, sections 4.1 and 4.3).
//
// Pure; host and device.
#pragma once

#include "common/hd.h"
#include "consensus/step/quorum.h"

namespace gcoord::consensus {

// What to append to get from `present` to `wanted`. Both are simple, and a slot that both use has
// the same node in both, with the same weight where it votes in both. A voter that `wanted` has as
// a learner becomes one when the joint step ends, and keeps its weight.
GCOORD_HD inline Configuration next_configuration(const Configuration& present,
                                                  const Configuration& wanted) {
  const auto changed = static_cast<SlotMask>(present.voters ^ wanted.voters);
  if (count_slots(changed) <= 1 && quorums_meet(present, wanted)) {
    return wanted;
  }
  Configuration joint = wanted;
  joint.voters_outgoing = present.voters;
  joint.learners_next = static_cast<SlotMask>(wanted.learners & present.voters);
  joint.learners = static_cast<SlotMask>(wanted.learners & ~joint.voters_either());
  joint.auto_leave = 1;
  GCOORD_UNROLL
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (has_slot(present.voters, slot)) {
      joint.node[slot] = present.node[slot];
      joint.weight[slot] = present.weight[slot];
    }
  }
  return joint;
}

}  // namespace gcoord::consensus
