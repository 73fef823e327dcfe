// The nodes of which a bundle is made, and where their pages are. Pure; thread-safe.
#pragma once

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
};

// Where the pages of a node are: by what it says of itself, else 200 above its client port.
// NotFound when its port is off, or its address is none.
//
// A node that listens on loopback, or on all addresses, is reached at the host of its client port.
Result<HttpAddress> http_address_of(const std::string& endpoint, const Json& report);

// "http://HOST:PORT[/PREFIX]" or "HOST:PORT"; OptionInvalid for anything else.
Result<HttpAddress> parse_metrics_address(const std::string& text);

// "http://HOST:PORT/PREFIX".
std::string url_of(const HttpAddress& address);

// The nodes of the view by their ids; where there are none, the endpoints that the user gave,
// without those that are names of services in DNS.
std::vector<BundleTarget> targets_of(const std::vector<client::NodeView>& nodes,
                                     const std::vector<std::string>& endpoints);

// Gives the address to the target of this node; where there is none, or the node is not known (0),
// the address becomes a target of its own.
void give_address(std::vector<BundleTarget>& targets, std::uint32_t node, HttpAddress address);

// "node-3", and "address-2" of the second target that nobody knows; in the order of the targets.
std::vector<std::string> folders_of(const std::vector<BundleTarget>& targets);

}  // namespace gcoord::cli
