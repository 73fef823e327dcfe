// The dice of one simulated world: a seed and a counter, so that a run is a function of its seed.
#pragma once

#include "common/random.h"

#include <cstdint>

namespace gcoord::chaos {

class SimRandom {
 public:
  SimRandom(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t word() { return random64(seed_, stream_, counter_++); }

  // In [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound) { return random_below(word(), bound); }

  // In [low, high].
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }

  // True in `ppm` of a million cases.
  bool chance(std::uint32_t ppm) { return below(1'000'000) < ppm; }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t counter_ = 0;
};

}  // namespace gcoord::chaos
