// The lock service's clock: the time of the present pass of the loop, in microseconds and in ticks.
//
// Ticks are of the engine's length but counted from another start. Set by the loop whenever it woke
// up; never read from the system, so tests and the simulator move it. Plain value; one thread.
#pragma once

#include "common/assert.h"
#include "common/ids.h"

#include <cstdint>

namespace gcoord::server {

struct ServiceClock {
  std::uint32_t tick_ms = 10;
  Tick now{1};
  std::uint64_t now_us = 0;

  // Microseconds that only grow and count suspended time.
  void set(std::uint64_t us) {
    GCOORD_ASSERT(now_us <= us);
    now_us = us;
    now = Tick{us / (tick_ms * std::uint64_t{1000}) + 1};
  }
};

}  // namespace gcoord::server
