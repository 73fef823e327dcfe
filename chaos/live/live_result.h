// Result of a live run and its reports: one JSON object, a few lines of text, a page. Pure.
#pragma once

#include "chaos/check/checks.h"
#include "chaos/live/live.h"
#include "chaos/process/cluster_watch.h"
#include "common/json/value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

// A second of the run.
struct LiveSecond {
  std::uint32_t answered = 0;  // Operations that ended with a certain outcome in it.
  std::uint32_t unknown = 0;   // That ended without one.
  float p50_ms = 0;            // Of those that did not wait in line.
  float p99_ms = 0;
};

// The load outside fault windows.
struct CalmLoad {
  std::uint64_t asked = 0;     // Operations.
  std::uint64_t answered = 0;  // Of them: with a certain outcome within a second.
  double seconds = 0;
  double per_s = 0;
};

// How long it took after faults until something was well again.
struct Recovery {
  double bound_ms = 0;
  double worst_ms = 0;
  std::uint32_t late = 0;  // Times that the bound was passed.
};

struct LiveResult {
  double seconds = 0;
  std::uint64_t began_ns = 0;
  std::uint64_t operations = 0;
  std::uint64_t acknowledged = 0;  // Changes that a client was told of.
  std::uint64_t unknown = 0;
  std::uint64_t stale_refused = 0;  // Writes that the guarded store refused.
  CalmLoad calm;
  double availability = 0;
  Recovery led{};              // Until every shard is led again: three election timeouts.
  Recovery full{};             // Until nodes that lost what they had are at full strength.
  std::uint32_t rejoined = 0;  // Such nodes.
  std::uint64_t lost = 0;
  std::uint64_t names_stuck = 0;
  CheckSummary checks;
  ReplicaAgreement agreement;
  std::vector<std::string> failures;  // Of faults' own judgements and of the run itself.
  std::vector<FaultTally> tallies;
  std::vector<StrikeRecord> strikes;
  std::vector<LeaderSample> leaders;
  std::vector<LiveSecond> timeline;

  std::uint64_t violations() const;
  std::uint64_t undecided() const;
  std::uint32_t injected() const;

  bool passed() const { return violations() == 0 && undecided() == 0; }
};

// Fills rates, latencies and availability from what clients were told.
void summarize_load(const std::vector<Operation>& operations, LiveResult& result);

Json to_json(const LiveResult& result, const LiveOptions& options);
std::string to_text(const LiveResult& result);

}  // namespace gcoord::chaos
