// The clocks of a node. What it decides is by CLOCK_BOOTTIME alone, which counts the time a machine
// was suspended, as leases must. Thread-safe.
#pragma once

#include <cstdint>

namespace gcoord::server {

// Microseconds since the machine started; never goes back.
std::uint64_t boot_time_us();

// Unix milliseconds of the wall clock: for people to read. No decision depends on it.
std::uint64_t wall_ms();

}  // namespace gcoord::server
