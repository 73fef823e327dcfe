#include "netcore/tls/node_names.h"

#include <algorithm>
#include <string>

namespace gcoord::netcore {
namespace {

constexpr std::string_view kOwn = "gcoord://";
constexpr std::string_view kSpiffe = "spiffe://";

}  // namespace

bool names_node(std::string_view uri, ClusterId cluster, NodeId node) {
  const std::string name = std::to_string(cluster.value) + "/node/" + std::to_string(node.value);
  if (uri.starts_with(kOwn)) {
    return uri.substr(kOwn.size()) == name;
  }
  if (!uri.starts_with(kSpiffe)) {
    return false;
  }
  uri.remove_prefix(kSpiffe.size());
  const std::size_t domain = uri.find('/');
  return domain != 0 && domain != std::string_view::npos && uri.substr(domain) == "/gcoord/" + name;
}

bool names_some_node(const security::TlsPeer& peer) {
  return std::ranges::any_of(peer.uris, [](const std::string& uri) {
    return (uri.starts_with(kOwn) || uri.starts_with(kSpiffe)) &&
           uri.find("/node/") != std::string::npos;
  });
}

bool names_node(const security::TlsPeer& peer, ClusterId cluster, NodeId node) {
  return std::ranges::any_of(
      peer.uris, [&](const std::string& uri) { return names_node(uri, cluster, node); });
}

}  // namespace gcoord::netcore
