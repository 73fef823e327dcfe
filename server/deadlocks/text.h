// Descriptions of a deadlock: a sentence for the client whose wait was ended, JSON for operators.
// Pure; thread-safe.
#pragma once

#include "server/deadlocks/wait.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// Bytes of a sentence; a circle of many waits is told up to there.
inline constexpr std::size_t kDeadlockTextMax = 4096;

// "session 5 waits for "b" (shard 2), which session 6 holds under token 7; ...": from the wait that
// was ended on, around the circle.
std::string deadlock_text(std::span<const DeadlockWait> ring, std::size_t victim);

struct DeadlockShown {
  std::uint64_t wall_ms = 0;
  std::vector<DeadlockWait> ring;
  std::size_t victim = 0;
};

std::string deadlock_json(std::uint32_t interval_ms,
                          NodeId coordinator,
                          std::span<const DeadlockShown> shown);

}  // namespace gcoord::server
