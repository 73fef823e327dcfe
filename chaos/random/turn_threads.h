// Turn threads of a real node (--turn-threads), drawn anew at each start: nothing on disk or
// between nodes may depend on their number (docs/internals/threads.md).
#pragma once

#include "chaos/random/draw.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

// More only divide the same rows further.
inline constexpr std::uint32_t kTurnThreadsDrawn = 4;

// 1 to kTurnThreadsDrawn for a life of a node, as a flag of gcoordd. A function of its arguments.
inline std::vector<std::string> turn_threads_of_life(std::uint64_t seed,
                                                     std::uint32_t node,
                                                     std::uint32_t life) {
  constexpr std::uint64_t kThreads = 0x7478;  // No strike has this number.
  Draw draw{random64(seed, kThreads, node), life};
  return {"--turn-threads", std::to_string(draw.between(1, kTurnThreadsDrawn))};
}

}  // namespace gcoord::chaos
