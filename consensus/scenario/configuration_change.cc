#include "consensus/scenario/configuration_change.h"

namespace gcoord::consensus::scenario {
namespace {

// The slot of a node, an empty one if it has none yet; kSlotNone if all are taken.
std::uint8_t place(Configuration& configuration, NodeId node) {
  const std::uint8_t known = slot_of(configuration, node);
  if (known != kSlotNone) {
    return known;
  }
  for (std::uint8_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (configuration.node[slot].value == 0) {
      configuration.node[slot] = node;
      return slot;
    }
  }
  return kSlotNone;
}

void free_unused_slots(Configuration& configuration) {
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    if (!has_slot(configuration.members(), slot)) {
      configuration.node[slot] = NodeId{};
      configuration.weight[slot] = 0;
    }
  }
}

Status no_slot() {
  return {StatusCode::InvalidArgument, "a shard has at most 8 replicas, leaving ones included"};
}

}  // namespace

Result<Configuration> changed(const Configuration& before, const Members& after, Change change) {
  Configuration result = before;
  result.voters = 0;
  result.learners = 0;
  result.learners_next = 0;
  result.voters_outgoing = change == Change::Simple ? SlotMask{0} : before.voters;
  result.auto_leave = change == Change::Joint ? 1 : 0;
  for (const Voter& voter : after.voters) {
    const std::uint8_t slot = place(result, voter.node);
    if (slot == kSlotNone) {
      return no_slot();
    }
    result.voters = static_cast<SlotMask>(result.voters | slot_bit(slot));
    result.weight[slot] = voter.weight;
  }
  for (const NodeId learner : after.learners) {
    const std::uint8_t slot = place(result, learner);
    if (slot == kSlotNone) {
      return no_slot();
    }
    SlotMask& mask =
        has_slot(result.voters_outgoing, slot) ? result.learners_next : result.learners;
    mask = static_cast<SlotMask>(mask | slot_bit(slot));
  }
  free_unused_slots(result);
  if (!well_formed(result, kReplicaSlots)) {
    return Status{
        StatusCode::InvalidArgument,
        "not a configuration: it needs a voter, weights of at least 1 and every node once"};
  }
  return result;
}

}  // namespace gcoord::consensus::scenario
