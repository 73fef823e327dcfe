// Everything that a bundle holds, collected from all nodes of a cluster at once.
//
// A node that is down is a gap, as is a page that does not come; neither stops the rest, and no
// part goes on after the deadline. Blocks; a thread for each node, at most 16 of them. One thread
// calls.
#pragma once

#include "cli/bundle/deadline.h"
#include "cli/bundle/node_pages.h"
#include "cli/bundle/targets.h"
#include "cli/doctor/facts.h"
#include "gcoord/client.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::cli {

struct CollectionRequest {
  client::Client* client = nullptr;  // Null: no node could be reached, client_error says why.
  std::string client_error;
  std::vector<std::string> endpoints;  // As the user gave them.
  std::vector<HttpAddress> metrics;    // The same.
  HttpTls tls{};                       // Of pages that the user did not name.
  std::chrono::seconds sample{5};
  Deadline deadline{std::chrono::seconds{60}};
};

// A target, and what was found out of it.
struct CollectedNode {
  BundleTarget target;
  std::string folder;
  std::string url;  // Of its pages; empty: not known.
  NodeFacts facts;  // Its report, over the client protocol.
};

struct Collection {
  client::ClusterView view;
  std::vector<CollectedNode> nodes;
  BundleContent content;  // By name.
  std::uint64_t begun_ms = 0;
  std::uint64_t took_ms = 0;
  std::chrono::seconds sample{0};

  // Nothing that was wanted is missing.
  bool complete() const;

  // Every node answered the client protocol.
  bool all_reachable() const;
};

Collection collect(const CollectionRequest& request);

}  // namespace gcoord::cli
