// Leader's next proposal that readmits members without a memory (readmission.h).
//
// The whole state of a re-admission is the configuration and what the row knows of its peers, so
// this is a question that any leader can ask at any time; the answer is one configuration for
// ConfigurationInput::Proposed, or nothing to do now. A learner that has a weight is a voter to be:
// demotion keeps the weight. Pure; host and device; the caller owns nothing in between.
#pragma once

#include "common/hd.h"
#include "consensus/step/lead.h"
#include "consensus/step/next_configuration.h"

namespace gcoord::consensus {

enum class ReadmissionStep : std::uint8_t {
  None = 0,
  Demote = 1,   // A voter forgot: make it a learner.
  Anchor = 2,   // A learner forgot: append the configuration anew, in its present life.
  Promote = 3,  // A learner remembers and has the log: make it a voter again.
};

struct ReadmissionPlan {
  ReadmissionStep step = ReadmissionStep::None;
  Configuration configuration;  // To propose, unless None.
};

// Whether any member of a row that leads is on its way back or has to set out on it.
GCOORD_HD inline bool wants_readmission(ShardRef shard) {
  const Configuration& configuration = shard.configuration();
  for (std::uint32_t slot = 0; slot < shard.slot_count(); ++slot) {
    const bool waits = has_slot(configuration.learners, slot) && configuration.weight[slot] != 0;
    const bool forgot = has_slot(configuration.members(), slot) &&
                        (shard.progress(slot).flags & kProgressForgetful) != 0;
    if (waits || forgot) {
      return true;
    }
  }
  return false;
}

template <typename Row>
GCOORD_HD inline ReadmissionStep next_readmission_step(const Row& r, std::uint32_t slot) {
  const Found<PeerLiveness> peer = peer_at(r, slot);
  if (!peer.found() || peer->live == 0 || !acknowledged(r, slot, *peer)) {
    return ReadmissionStep::None;
  }
  const Progress& progress = r.progress(slot);
  const bool forgetful = (progress.flags & kProgressForgetful) != 0;
  if (has_slot(r.configuration().voters, slot)) {
    return forgetful ? ReadmissionStep::Demote : ReadmissionStep::None;
  }
  if (forgetful) {
    const bool anchored = (progress.flags & kProgressAnchored) != 0;
    return anchored ? ReadmissionStep::None : ReadmissionStep::Anchor;
  }
  const bool returns = r.configuration().weight[slot] != 0 && progress.match >= r.log().commit;
  return returns ? ReadmissionStep::Promote : ReadmissionStep::None;
}

// `present` with one member moved; by a joint step where weights would let two quorums miss each
// other.
GCOORD_HD inline Configuration readmitted(const Configuration& present,
                                          ReadmissionStep step,
                                          std::uint32_t slot) {
  const SlotMask bit = slot_bit(slot);
  Configuration next = present;
  if (step == ReadmissionStep::Demote) {
    next.voters = static_cast<SlotMask>(next.voters & ~bit);
    next.learners = static_cast<SlotMask>(next.learners | bit);
  } else if (step == ReadmissionStep::Promote) {
    next.voters = static_cast<SlotMask>(next.voters | bit);
    next.learners = static_cast<SlotMask>(next.learners & ~bit);
  }
  return next_configuration(present, next);
}

// What to propose on the row now. None too while a change is under way or the last voter would go.
GCOORD_HD inline ReadmissionPlan plan_readmission(ShardRef shard, const StepInput& input) {
  OutboxHead unused;
  const StepArrays none;
  const StepRow r{shard, input, unused, none};
  if (!lives_can_end(input) || !may_change_configuration(r) || r.configuration().joint()) {
    return {};
  }
  for (std::uint32_t slot = 0; slot < shard.slot_count(); ++slot) {
    const ReadmissionStep step = next_readmission_step(r, slot);
    if (step == ReadmissionStep::None) {
      continue;
    }
    const Configuration next = readmitted(r.configuration(), step, slot);
    if (next.voters != 0) {
      return {step, next};
    }
  }
  return {};
}

}  // namespace gcoord::consensus
