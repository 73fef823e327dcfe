// The one clock of a node: CLOCK_BOOTTIME, which counts the time a machine was suspended, as leases
// must (DESIGN.md section 3a). Thread-safe.
#pragma once

#include <cstdint>

namespace gcoord::server {

// Microseconds since the machine started; never goes back.
std::uint64_t boot_time_us();

}  // namespace gcoord::server
