// Waits until one node of a cluster has applied what the others have: a follower may be a message
// behind its leader.
#pragma once

#include "chaos/process/local_cluster.h"
#include "common/comma_list.h"
#include "tests/cli/programs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::cli {

// Of a cluster that nobody writes to, with up to 256 shards.
inline void await_equal(const chaos::LocalCluster& cluster, std::uint32_t node) {
  const Ctl ctl{comma_list(cluster.endpoints())};
  const auto applied = [&](std::uint32_t of) {
    std::vector<std::string> indexes;
    const Finished listed =
        ctl({"-o", "json", "shard", "ls", "--node", std::to_string(of), "--limit", "256"});
    for (const auto& row : listed.json().value("rows", nlohmann::json::array())) {
      indexes.push_back(row.value("applied", ""));
    }
    return indexes;
  };
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto here = applied(node);
    bool equal = !here.empty();
    for (std::uint32_t other = 1; other <= cluster.node_count(); ++other) {
      equal = equal && applied(other) == here;
    }
    if (equal) {
      return;
    }
    std::this_thread::yield();
  }
  FAIL() << "node " << node << " did not catch up";
}

}  // namespace gcoord::cli
