// Processes that attack the shared memory of nodes, as their parent sees them, and what the nodes
// count of it.
//
// The processes end with this object. Blocking, by deadlines. One thread.
#pragma once

#include "chaos/rings/ring_attack.h"
#include "common/host/child_process.h"
#include "common/status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

class RingAttackers {
 public:
  // `command`: what runs run_ring_attacker(), without its arguments.
  explicit RingAttackers(std::vector<std::string> command) : command_(std::move(command)) {}

  Status start(const RingAttackOptions& options);

  // The sum of what they did. Aborted: one did not end well, or not within `timeout`.
  Result<RingAttackCounts> await_ends(std::chrono::milliseconds timeout);

 private:
  std::vector<std::string> command_;
  std::vector<ChildProcess> each_;
};

// The program of such a process: attacks, and prints its counts. Its exit code.
int run_ring_attacker(const RingAttackOptions& options);

// Counters of one node (docs/reference/metrics.md).
struct RingMetrics {
  std::uint64_t clients = 0;     // That have rings now.
  std::uint64_t broken = 0;      // Rings that cannot be.
  std::uint64_t loud = 0;        // Clients that rang without end.
  std::uint64_t bad_frames = 0;  // Of all clients.

  std::uint64_t refused() const { return broken + loud + bad_frames; }
};

// Unavailable: no node answers at this port of loopback.
Result<RingMetrics> read_ring_metrics(std::uint16_t metrics_port);

}  // namespace gcoord::chaos
