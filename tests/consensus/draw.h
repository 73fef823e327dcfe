// Random numbers of one seed, for drawn rows and messages. Host and device.
#pragma once

#include "common/hd.h"
#include "common/random.h"

#include <cstdint>

namespace gcoord::consensus {

class Draw {
 public:
  GCOORD_HD explicit Draw(std::uint32_t seed) : seed_(seed) {}

  GCOORD_HD std::uint64_t word() { return random64(seed_, 1, ++count_); }

  GCOORD_HD std::uint32_t below(std::uint32_t bound) { return random_below(word(), bound); }

  GCOORD_HD bool once_in(std::uint32_t count) { return below(count) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

}  // namespace gcoord::consensus
