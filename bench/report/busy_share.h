// The share of a machine's cores that processes use, as a witness that a measurement was alone.
// Linux; thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gcoord::bench {

// Time of all cores since the machine started, in ticks of the kernel.
struct CoreTime {
  std::uint64_t busy = 0;  // What the hypervisor took for others, too.
  std::uint64_t all = 0;
};

// Of the first line of /proc/stat; nothing for what is no such line.
std::optional<CoreTime> core_time(std::string_view line);

// From 0 to 1, over that long, in which the caller should do nothing; 0 when the system does not
// say.
double busy_share(std::chrono::milliseconds length);

}  // namespace gcoord::bench
