// Resource usage of a running process from /proc: CPU time and resident memory. Linux; thread-safe.
#pragma once

#include "common/status.h"

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace gcoord::chaos {

struct ResourceUsage {
  std::chrono::milliseconds cpu{0};  // User and system time of all threads since its start.
  std::uint64_t resident_bytes = 0;  // All of it in memory, file pages included.
  std::uint64_t resident_anonymous_bytes = 0;  // Its own memory: heap, stacks, columns.
};

// NotFound when there is no such process.
Result<ResourceUsage> resource_usage(pid_t pid);

}  // namespace gcoord::chaos
