// The questions before an examination: what every node of a cluster says of itself. Blocks; each
// function may be called by several threads at once.
#pragma once

#include "cli/doctor/examination.h"
#include "cli/doctor/facts.h"
#include "common/json/value.h"
#include "gcoord/client.h"

#include <chrono>
#include <vector>

namespace gcoord::cli {

// One node's report, or why there is none.
NodeFacts ask_node(client::Client& client, const client::NodeView& node);

// Those of all nodes, once they are connected or `timeout` is over.
ClusterFacts ask_cluster(client::Client& client, std::chrono::milliseconds timeout);

// What `gcoordctl -o json doctor` prints.
Json examination_json(const ClusterFacts& facts, const std::vector<Finding>& findings);

// Whether nothing needs attention.
bool is_healthy(const std::vector<Finding>& findings);

}  // namespace gcoord::cli
