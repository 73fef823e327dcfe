// Number of processors that this process may use: by its affinity, and by the quota of its control
// groups.
//
// Sources: sched_getaffinity(2); cgroups(7) and the kernel's Control Group v2 document (cpu.max) or
// v1 (cpu.cfs_quota_us), of the group that /proc/self/cgroup names and, as far as they can be read,
// of those above it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord {

// At least 1. A quota of a part of a processor counts as a whole one.
std::uint32_t usable_processors();

// What a cpu.max file says: processors, rounded up; nothing without a limit, or if it is none.
std::optional<std::uint32_t> parse_cpu_max(std::string_view text);

// The path of the process's group in the hierarchy of cgroup v2 ("0::/PATH") that /proc/self/cgroup
// names; nothing if there is none.
std::optional<std::string> parse_cgroup_path(std::string_view text);

}  // namespace gcoord
