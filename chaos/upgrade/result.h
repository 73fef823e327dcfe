// Result of an upgrade test and its reports: one JSON object, a few lines of text. Pure.
#pragma once

#include "chaos/check/checks.h"
#include "chaos/process/cluster_watch.h"
#include "chaos/upgrade/moves.h"
#include "common/json/value.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

// One move, in nanoseconds of the histories' clock.
struct MoveRecord {
  Move move;
  std::uint64_t from_ns = 0;
  std::uint64_t until_ns = 0;
  double ready_ms = 0;   // From the signal until the node was ready again.
  double led_ms = 0;     // From the signal until every shard had a leader.
  double silent_ms = 0;  // The longest time within it without an answer to any client.
  std::string refused;   // What the node said of a directory that is too new for it.
};

struct UpgradeResult {
  std::string previous;  // Of each release: what it is called, and what its program says it is.
  std::string previous_version;
  std::string this_version;
  double seconds = 0;
  std::uint64_t operations = 0;
  std::uint64_t acknowledged = 0;  // Changes that a client was told of.
  std::uint64_t unknown = 0;       // Operations without a certain outcome.
  std::uint64_t names_stuck = 0;
  std::uint32_t moves_after_load = 0;  // That ended when the load had: it was too short for all.
  std::vector<MoveRecord> moves;
  CheckSummary checks;
  ReplicaAgreement agreement;
  std::vector<std::string> failures;

  std::uint64_t violations() const;
  std::uint64_t undecided() const;

  bool passed() const { return violations() == 0 && undecided() == 0; }
};

// Counts operations, and fills silent_ms of each move.
void summarize_load(const std::vector<Operation>& operations, UpgradeResult& result);

Json to_json(const UpgradeResult& result, std::uint64_t seed);
std::string to_text(const UpgradeResult& result);

}  // namespace gcoord::chaos
