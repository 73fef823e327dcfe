// Values for property tests: numbers from the whole range at every size, and any well-formed
// configuration, simple or joint, with small weights.
#pragma once

#include "consensus/step/configuration.h"

#include <rapidcheck.h>

#include <cstdint>

namespace gcoord::consensus {

// One of least .. most. rapidcheck's own range begins with the small values only.
template <typename Number>
Number any_from(Number least, Number most) {
  const auto bound = static_cast<Number>(most + 1);
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(least, bound));
}

inline bool any_bool() {
  return any_from(0, 1) == 1;
}

inline SlotMask any_mask() {
  return static_cast<SlotMask>(any_from(0, 255));
}

// Gives every member slot a node (slot + 1) and a weight of 1 to weight_max; empties the others.
inline void fill_slots(Configuration& configuration, int weight_max) {
  for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
    const bool member = has_slot(configuration.members(), slot);
    configuration.node[slot] = NodeId{member ? slot + 1 : 0};
    configuration.weight[slot] =
        member ? static_cast<std::uint8_t>(any_from(1, weight_max)) : std::uint8_t{0};
  }
}

inline SlotMask any_voters() {
  const SlotMask mask = any_mask();
  return mask == 0 ? slot_bit(any_from(0u, 7u)) : mask;
}

inline Configuration any_configuration_with(SlotMask voters_outgoing, int weight_max) {
  Configuration configuration;
  configuration.voters = any_voters();
  configuration.voters_outgoing = voters_outgoing;
  configuration.learners = static_cast<SlotMask>(any_mask() & ~configuration.voters_either());
  configuration.learners_next =
      static_cast<SlotMask>(any_mask() & voters_outgoing & ~configuration.voters);
  fill_slots(configuration, weight_max);
  return configuration;
}

inline Configuration any_joint() {
  return any_configuration_with(any_voters(), 3);
}

inline Configuration any_simple(int weight_max = 3) {
  return any_configuration_with(0, weight_max);
}

inline Configuration any_configuration() {
  return any_bool() ? any_joint() : any_simple();
}

}  // namespace gcoord::consensus
