// Drives ZooKeeper's lock recipe through its C client, asynchronously, from one thread.
//
// To lock is to create an ephemeral sequential node below the lock's, and to see that it is the
// first of the children; to unlock is to delete it. The client without threads of its own
// (zookeeper_st) is used, because one loop over all sessions costs less than two threads for each.
#pragma once

#include "bench/load/closed_loop.h"
#include "common/status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

struct ZookeeperOptions {
  std::vector<std::string> endpoints;  // Sessions are dealt out to them in turn.
  std::uint32_t sessions = 1;          // Each a connection; shared by the clients.
  // The children are asked for together with the node, not after it. A session's requests are
  // served in order, so the answer is the same, and a round trip is saved.
  bool children_at_once = false;
  std::string name_prefix = "bench";
};

// Opens the sessions, creates the locks' nodes, runs the closed loop, returns what it measured.
Result<LoadResult> run_zookeeper(const ZookeeperOptions& options, const LoadOptions& load);

}  // namespace gcoord::bench
