// Incarnation of a node: the generation of its data directory and the count of its starts.
//
// The top 8 bits say how many directories of the node were given up before this one
// (docs/adr/0025), the low 24 count the starts of the node. So incarnations rise from start to
// start and from directory to directory, and compare as plain numbers. Pure; host and device.
#pragma once

#include "common/hd.h"
#include "common/ids.h"

#include <cstdint>

namespace gcoord {

inline constexpr std::uint32_t kStartBits = 24;
inline constexpr std::uint32_t kGenerationMax = 255;

// Starts of a node: two million, one a minute for four years. Fewer than the bits hold, because
// channel epochs are made of them (netcore/transport/greeting.h).
inline constexpr std::uint32_t kStartMax = 1u << 21;

// Directories given up before the one of this incarnation; 0 for the node's first.
GCOORD_HD constexpr std::uint32_t generation_of(Incarnation incarnation) {
  return incarnation.value >> kStartBits;
}

// Starts of the node up to this one; at least 1 but for "never heard of".
GCOORD_HD constexpr std::uint32_t start_of(Incarnation incarnation) {
  return incarnation.value & ((1u << kStartBits) - 1);
}

GCOORD_HD constexpr Incarnation incarnation_of(std::uint32_t generation, std::uint32_t start) {
  return Incarnation{generation << kStartBits | start};
}

// Whether a directory can have it.
GCOORD_HD constexpr bool is_possible(Incarnation incarnation) {
  return start_of(incarnation) != 0 && start_of(incarnation) <= kStartMax;
}

// A number for what has to differ between all starts of a node, in fewer bits than the incarnation:
// it rises from start to start, and from directory to directory even if whoever told the new one of
// the old had missed up to this many starts.
inline constexpr std::uint32_t kStartsPerGeneration = 1u << 13;

GCOORD_HD constexpr std::uint32_t ordinal_of(Incarnation incarnation) {
  return generation_of(incarnation) * kStartsPerGeneration + start_of(incarnation);
}

inline constexpr std::uint32_t kOrdinalMax = kGenerationMax * kStartsPerGeneration + kStartMax;

}  // namespace gcoord
