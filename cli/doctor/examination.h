// The examination of a cluster: what an operator should look at, from the reports of its nodes.
//
// Each check is a function of the facts alone, and finds nothing where they are not told. Pure; any
// thread.
#pragma once

#include "cli/doctor/facts.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

enum class Severity : std::uint8_t {
  Note,     // Worth knowing; nothing is wrong.
  Warning,  // Works, and will hurt.
  Error,    // Does not work, or something may be lost.
};

std::string_view severity_name(Severity severity);  // "note", "warning" or "error".

struct Finding {
  Severity severity = Severity::Note;
  std::string_view check;  // One of check_names().
  std::uint32_t node = 0;  // 0: the whole cluster.
  std::string what;
  std::string advice;
};

// Limits beyond which a fact is a finding.
struct ExaminationLimits {
  std::uint64_t clock_skew_ms = 1000;  // Between two nodes, beyond what the way may account for.
  std::uint64_t sync_p99_us = 50'000;  // To persist one record of the log.
  std::uint64_t answer_ms = 500;       // To answer a status request.
  std::uint64_t publication_age_ms = 60'000;
  std::uint64_t ledger_lag = 100'000;  // Entries that are not hashed yet.
  // A node leads more than this many times its share of the shards; small clusters are let be.
  std::uint32_t leaders_times = 2;
  std::uint32_t leaders_shards_min = 64;
};

// For people: a line of what was found, and one of what to do, for each.
std::vector<std::string> lines_of(const std::vector<Finding>& findings);

// All findings, the gravest first, then by check and node.
std::vector<Finding> examine(const ClusterFacts& facts, const ExaminationLimits& limits);

// Every check there is, in the order in which they run.
std::vector<std::string_view> check_names();

}  // namespace gcoord::cli
