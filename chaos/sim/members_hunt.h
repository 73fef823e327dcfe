// Searches for a planted mistake in simulated clusters whose members change.
//
// Each world runs in a process of its own, since a mistake may end in an assertion. One thread.
#pragma once

#include "chaos/mutants/mutant.h"

#include <cstdint>
#include <string>

namespace gcoord::chaos {

struct HuntedSeed {
  std::uint64_t seed = 0;  // The first one that shows the mistake; 0: none did.
  std::string what;        // One line.
};

struct SeedRange {
  std::uint64_t first = 1;
  std::uint64_t count = 500;
};

// Tries one seed after the other.
HuntedSeed hunt_in_changing_members(Mutant mutant, const SeedRange& seeds);

}  // namespace gcoord::chaos
