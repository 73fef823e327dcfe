// Counter-based randomness: a pure function of (seed, stream, counter), the same on host and
// device.
//
// There is no generator object and no state: who needs a number names it, so replays are bit-exact
// and order does not matter. The mixing function is the finaliser of SplitMix64 (Steele, Lea,
// Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), applied to each word in
// turn. Not for secrets.
#pragma once

#include "common/hd.h"

#include <cstdint>

namespace gcoord {

// A bijection of 64-bit words in which every input bit affects every output bit.
GCOORD_HD constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;  // 2^64 divided by the golden ratio, odd.
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The random word named (seed, stream, counter).
GCOORD_HD constexpr std::uint64_t random64(std::uint64_t seed,
                                           std::uint64_t stream,
                                           std::uint64_t counter) {
  return mix64(mix64(mix64(seed) ^ stream) ^ counter);
}

// Maps a random word to [0, bound) without division (Lemire 2019); bound > 0. The bias is below
// bound / 2^32.
GCOORD_HD constexpr std::uint32_t random_below(std::uint64_t word, std::uint32_t bound) {
  return static_cast<std::uint32_t>(((word >> 32) * bound) >> 32);
}

}  // namespace gcoord
