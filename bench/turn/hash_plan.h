// How a device is divided between the turns of its nodes and what hashes for them.
//
// Stripes of turns and blocks that hash are resident side by side: a stripe takes as many registers
// of a multiprocessor as a block that hashes, and eight of either fill it. Plain functions.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

struct HashPlan {
  std::uint32_t stripes = 7;    // To a multiprocessor that has turns; the rest of it hashes.
  std::uint32_t percent = 100;  // Of the multiprocessors have turns; all of the others hash.
};

// "7,6,8:68": plans separated by commas, each the stripes (5 to 8) and, after a colon, the percent
// (10 to 100). InvalidArgument for anything else, and for one that leaves nothing to hash on.
Result<std::vector<HashPlan>> parse_hash_plans(const std::string& text);

}  // namespace gcoord::bench
