// The nodes of which a bundle is made, and where their pages are. Pure; thread-safe.
#pragma once

#include "cli/bundle/node_identity.h"
#include "cli/doctor/facts.h"
#include "cli/ledger/http_tiles.h"
#include "common/json/value.h"
#include "common/status.h"
#include "gcoord/client.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

// One node, or an address at which there may be one.
struct BundleTarget {
  client::NodeView view;            // node_id 0: nobody knows which node it is.
  std::optional<HttpAddress> http;  // Given by the user; else the node is asked, or the rule holds.
  std::optional<NodeIdentity> identity;  // By the view or its pages; nothing: nobody tells.
  std::vector<std::string> also_at;      // Further names of the same node.
};

// Where the pages of a node are: at the host of its client port, with the port that it tells, else
// 200 above its client port. NotFound when its port is off, or its address is none.
//
// The host is the one at which the user reached the node: a report sends nobody to another host.
Result<HttpAddress> http_address_of(const std::string& endpoint, const Json& report);

// "http://HOST:PORT[/PREFIX]", the same with https, or "HOST:PORT"; OptionInvalid for anything
// else.
Result<HttpAddress> parse_metrics_address(const std::string& text);

// "http://HOST:PORT/PREFIX".
std::string url_of(const HttpAddress& address);

// All that is named: the nodes of the view; where there are none, the endpoints that the user gave,
// without those that are names of services in DNS; then the addresses of pages that the user gave.
std::vector<BundleTarget> targets_of(const std::vector<client::NodeView>& nodes,
                                     const std::vector<std::string>& endpoints,
                                     const std::vector<HttpAddress>& metrics);

// Each node once, by its id, and last those that nobody knows. A target whose identity is that of
// another one is a further name of it; an address that the user gave for pages stays the one that
// is read. `cluster` is that of the view; 0: that of the first target that tells. A node of another
// cluster, or another life of a node, is a target of its own and has no number.
std::vector<BundleTarget> merge_names(std::vector<BundleTarget> targets, std::uint64_t cluster);

// "node-3", and "address-2" of the second target that nobody knows; in the order of the targets.
std::vector<std::string> folders_of(const std::vector<BundleTarget>& targets);

}  // namespace gcoord::cli
