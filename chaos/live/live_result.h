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

struct LiveResult {
  double seconds = 0;
  std::uint64_t began_ns = 0;
  std::uint64_t operations = 0;
  std::uint64_t acknowledged = 0;  // Changes that a client was told of.
  std::uint64_t unknown = 0;
  std::uint64_t stale_refused = 0;  // Writes that the guarded store refused.
  std::uint64_t calm_asked = 0;     // Operations asked for outside fault windows.
  std::uint64_t calm_answered = 0;  // Of them: with a certain outcome within a second.
  double calm_seconds = 0;
  double calm_per_s = 0;
  double availability = 0;
  double led_bound_ms = 0;  // Three election timeouts.
  double led_worst_ms = 0;
  std::uint32_t led_late = 0;
  double full_bound_ms = 0;  // Until nodes that lost what they had are at full strength.
  double full_worst_ms = 0;
  std::uint32_t full_late = 0;
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
