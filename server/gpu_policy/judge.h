// The decisions over a node's GPU: which faults a reading shows, and which of them begin or end.
//
// A fault that comes as an event, an Xid or a counter that grew, lasts until so long has passed
// without another one; one that is a state, a lost GPU, heat or a driver that hangs, lasts so long
// after it was seen last. So a fault that comes and goes is one fault, with one line of the log.
// Counters are compared with the first reading: what was before the node began is not its. Pure;
// one owner per object. Times are milliseconds of one clock that only grows.
#pragma once

#include "server/gpu/nvml.h"
#include "server/gpu_policy/policy.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::server {

// Corrected errors of memory within an hour that are a fault.
inline constexpr std::uint64_t kEccCorrectedPerHour = 1000;

struct GpuDecision {
  GpuFault fault = GpuFault::XidFatal;
  GpuAction action = GpuAction::Ignore;
  bool begins = true;      // False: it ends.
  std::string evidence;    // What was seen, first when it begins and last when it ends.
  std::uint64_t seen = 1;  // How often so far.
};

// A fault that lasts.
struct GpuCondition {
  std::uint64_t since_ms = 0;
  std::uint64_t seen_ms = 0;  // Last.
  std::uint64_t seen = 0;     // How often.
  std::string evidence;       // Of the last time.
};

class GpuJudge {
 public:
  GpuJudge(const GpuPolicy& policy, std::uint64_t quiet_ms)
      : policy_(policy), quiet_ms_(quiet_ms) {}

  // The newest reading of the node's GPU; nullptr: the driver has not answered for so long that
  // the last one says nothing any more. What begins and what ends with it.
  std::vector<GpuDecision> look(const GpuReading* reading, std::uint64_t now_ms);

  // Whether a fault lasts for which the node drains.
  bool drains() const;

  // nullptr: it does not last.
  const GpuCondition* condition(GpuFault fault) const;

  const GpuPolicy& policy() const { return policy_; }

 private:
  struct Sight {
    GpuFault fault;
    std::string evidence;
  };

  std::vector<Sight> sights_of(const GpuReading& reading, std::uint64_t now_ms);
  void look_at_xids(const GpuReading& reading, std::vector<Sight>& sights);
  bool corrected_too_often(std::uint64_t count, std::uint64_t now_ms);

  GpuPolicy policy_;
  std::uint64_t quiet_ms_;
  std::array<std::optional<GpuCondition>, kGpuFaults> conditions_;
  std::map<std::uint32_t, std::uint64_t> xids_;  // Of the reading before.
  std::optional<std::uint64_t> uncorrected_;
  std::optional<std::uint64_t> recoveries_;
  std::optional<std::uint64_t> link_downs_;
  std::optional<std::uint64_t> corrected_;  // When the hour began.
  std::uint64_t corrected_since_ms_ = 0;
};

// How often a process opens its GPU anew before it ends instead: what comes back at once is not
// mended by that. One owner per object.
class ContextRestarts {
 public:
  static constexpr std::size_t kMost = 3;
  static constexpr std::uint64_t kWithinMs = 3'600'000;

  // Notes another one; false: there were too many.
  bool may_restart(std::uint64_t now_ms);

 private:
  std::vector<std::uint64_t> at_ms_;
};

}  // namespace gcoord::server
