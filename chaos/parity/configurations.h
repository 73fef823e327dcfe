// The configurations that a resident cluster changes between, by number: what a configuration entry
// of its log holds.
//
// Slot k is node k + 1 in all of them. Which may follow which is for the step to decide; some of
// these are always refused. Pure; host and device.
#pragma once

#include "chaos/parity/view.h"
#include "common/hd.h"
#include "consensus/step/configuration.h"

#include <cstdint>

namespace gcoord::chaos {

inline constexpr std::uint32_t kConfigurationChoices = 7;
// The end of the present joint configuration, whatever it is.
inline constexpr std::uint32_t kLeaveChoice = 6;

struct ConfigurationMasks {
  consensus::SlotMask voters;
  consensus::SlotMask voters_outgoing;
  consensus::SlotMask learners;
  consensus::SlotMask learners_next;
  std::uint8_t auto_leave;
};

GCOORD_HD inline ConfigurationMasks masks_of(std::uint32_t choice) {
  switch (choice) {
    case 1:
      return {0b011, 0, 0b100, 0, 0};  // One voter less.
    case 2:
      return {0b101, 0, 0b010, 0, 0};
    case 3:
      return {0b011, 0b111, 0, 0b100, 1};  // The same, jointly, left by the leader.
    case 4:
      return {0b111, 0b011, 0, 0, 0};  // Back, jointly, until somebody proposes to leave.
    case 5:
      return {0b110, 0b111, 0, 0b001, 1};
    default:
      return {0b111, 0, 0, 0, 0};
  }
}

// The configuration of this number where `present` is in force.
GCOORD_HD inline consensus::Configuration configuration_of(
    std::uint32_t choice, const consensus::Configuration& present) {
  if (choice == kLeaveChoice) {
    return consensus::leave_joint(present);
  }
  const ConfigurationMasks masks = masks_of(choice);
  consensus::Configuration configuration;
  configuration.voters = masks.voters;
  configuration.voters_outgoing = masks.voters_outgoing;
  configuration.learners = masks.learners;
  configuration.learners_next = masks.learners_next;
  configuration.auto_leave = masks.auto_leave;
  for (std::uint32_t slot = 0; slot < kResidentNodes; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  return configuration;
}

}  // namespace gcoord::chaos
