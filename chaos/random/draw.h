// Numbers of one strike, drawn in order from (seed, strike). Not thread-safe.
#pragma once

#include "common/assert.h"
#include "common/random.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t strike) : seed_(seed), strike_(strike) {}

  std::uint64_t word() { return random64(seed_, strike_, ++drawn_); }

  std::uint32_t below(std::uint32_t bound) {
    GCOORD_ASSERT(bound > 0);
    return random_below(word(), bound);
  }

  // Both ends included.
  std::uint32_t between(std::uint32_t least, std::uint32_t most) {
    GCOORD_ASSERT(least <= most);
    return least + below(most - least + 1);
  }

  std::chrono::milliseconds milliseconds(std::uint32_t least, std::uint32_t most) {
    return std::chrono::milliseconds{between(least, most)};
  }

  bool one_in(std::uint32_t n) { return below(n) == 0; }

  // So many different numbers from 1 to `last`.
  std::vector<std::uint32_t> some(std::uint32_t count, std::uint32_t last) {
    GCOORD_ASSERT(count <= last);
    std::vector<std::uint32_t> all(last);
    for (std::uint32_t i = 0; i < last; ++i) {
      all[i] = i + 1;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      std::swap(all[i], all[i + below(last - i)]);
    }
    all.resize(count);
    return all;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t strike_;
  std::uint64_t drawn_ = 0;
};

}  // namespace gcoord::chaos
