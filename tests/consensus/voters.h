// Configurations of equal voters, for tests.
#pragma once

#include "consensus/step/configuration.h"

#include <cstdint>

namespace gcoord::consensus {

// Up to three voters fit a packed row, more make it wide.
inline Configuration voters(std::uint32_t count) {
  Configuration configuration;
  for (std::uint32_t slot = 0; slot < count; ++slot) {
    configuration.voters = static_cast<SlotMask>(configuration.voters | slot_bit(slot));
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  return configuration;
}

}  // namespace gcoord::consensus
