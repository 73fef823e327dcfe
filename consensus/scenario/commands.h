// Tables of the commands of a scenario, by subject (tests/consensus/testdata/raft/README.md).
#pragma once

#include "common/status.h"
#include "consensus/scenario/command_line.h"
#include "consensus/scenario/scene.h"

#include <span>
#include <string_view>

namespace gcoord::consensus::scenario {

struct CommandRow {
  std::string_view name;
  Status (*run)(Scene& scene, const CommandLine& line);
};

// The cluster, time and the lives of nodes. All others want `cluster` before them.
std::span<const CommandRow> life_commands();

// Links between nodes, and the messages on them.
std::span<const CommandRow> link_commands();

// What a replica's owner may ask for.
std::span<const CommandRow> replica_commands();

// Questions, answered in lines of text.
std::span<const CommandRow> report_commands();

}  // namespace gcoord::consensus::scenario
