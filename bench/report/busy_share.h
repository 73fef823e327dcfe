// The share of a machine's cores that processes use, as a witness that a measurement was alone.
// Thread-safe.
#pragma once

#include <chrono>

namespace gcoord::bench {

// From 0 to 1, over that long, in which the caller should do nothing; 0 when the system does not
// say.
double busy_share_over(std::chrono::milliseconds length);

}  // namespace gcoord::bench
