// Time of all cores of a machine, busy and idle, from the first line of /proc/stat (proc(5)).
// Linux; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gcoord {

// Since the machine started, in ticks of the kernel, usually 10 ms.
struct CoreTime {
  std::uint64_t busy = 0;  // What the hypervisor took for others, too.
  std::uint64_t all = 0;
};

// Of the first line of /proc/stat; nothing for what is no such line.
std::optional<CoreTime> parse_core_time(std::string_view line);

// Now; zeros where the system does not say.
CoreTime read_core_time();

// The share of the cores that anybody used from one reading to a later one, from 0 to 1; 0 when no
// time has passed.
double busy_share(const CoreTime& before, const CoreTime& after);

}  // namespace gcoord
