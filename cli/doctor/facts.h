// Reports of all nodes of a cluster, each with the time at which it was asked for.
//
// Reports are from outside: a member may be absent, as in those of older nodes, or of a wrong type,
// and then counts as not told. Pure; one thread.
#pragma once

#include "common/json/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {

struct NodeFacts {
  std::uint32_t node = 0;
  std::string endpoint;
  std::string error;     // Why there is no report; empty when there is one.
  bool refused = false;  // It answers, and the user has no right to its report.
  Json report;           // As `gcoordctl -o json status` prints it.
  // Unix milliseconds of the machine that asked, before the question and after the answer.
  std::uint64_t asked_ms = 0;
  std::uint64_t answered_ms = 0;

  bool reachable() const { return error.empty(); }

  // An unsigned integer, as a number or as digits.
  std::optional<std::uint64_t> number(std::string_view name) const;
  std::optional<std::uint64_t> number(std::string_view group, std::string_view name) const;

  // Empty when it is not told.
  std::string text(std::string_view name) const;
};

struct ClusterFacts {
  std::uint32_t shard_count = 0;
  std::vector<NodeFacts> nodes;                // All of the cluster, ascending.
  std::vector<std::string> unknown_endpoints;  // Given, and of no known node.
};

// How far a node's wall clock is ahead of the clock of who asked, in milliseconds, and how much of
// that the way there and back may account for. Nothing when the node did not tell its time.
struct ClockOffset {
  std::int64_t ahead_ms = 0;
  std::uint64_t error_ms = 0;
};

std::optional<ClockOffset> clock_offset(const NodeFacts& facts);

}  // namespace gcoord::cli
