#include "cli/bundle/targets.h"

#include "protocol/error_codes.h"
#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::cli {
namespace {

// A node's pages, where nothing else is said (server/options/options.h).
constexpr std::uint32_t kMetricsAboveClient = 200;

Result<HttpAddress> by_rule(const server::Endpoint& client) {
  const std::uint32_t port = client.port + kMetricsAboveClient;
  if (port > 65535) {
    return Status{StatusCode::NotFound, "the address of its metrics is not known; give --metrics"};
  }
  return HttpAddress{.host = client.host, .port = std::to_string(port), .prefix = ""};
}

// What there is to compare a target by; node 0: nothing.
NodeIdentity identity_in(std::uint64_t cluster, const BundleTarget& target) {
  return target.identity.value_or(NodeIdentity{.cluster = cluster, .node = target.view.node_id});
}

// `name` is of the same node.
void take_name(BundleTarget& target, const BundleTarget& name) {
  const std::string text = name.http.has_value() ? url_of(*name.http) : name.view.address;
  if (name.http.has_value() && !target.http.has_value()) {
    target.http = name.http;
  } else if (text != target.view.address) {
    target.also_at.push_back(text);
  }
}

}  // namespace

Result<HttpAddress> http_address_of(const std::string& endpoint, const Json& report) {
  GCOORD_TRY(const server::Endpoint client, server::parse_endpoint(endpoint));
  const Json* told = report.find("metrics");
  if (told != nullptr && told->is_string() && told->text().empty()) {
    return Status{StatusCode::NotFound, "its pages are off (--listen-metrics)"};
  }
  const auto metrics =
      told != nullptr && told->is_string()
          ? server::parse_endpoint(told->text())
          : Result<server::Endpoint>{Status{StatusCode::NotFound, "it does not tell"}};
  if (!metrics.ok()) {
    return by_rule(client);
  }
  return HttpAddress{
      .host = client.host, .port = std::to_string(metrics.value().port), .prefix = ""};
}

Result<HttpAddress> parse_metrics_address(const std::string& text) {
  if (text.find("://") != std::string::npos) {
    return parse_http_place(text);
  }
  const auto endpoint = server::parse_endpoint(text);
  if (!endpoint.ok()) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid, endpoint.status().message());
  }
  return HttpAddress{
      .host = endpoint.value().host, .port = std::to_string(endpoint.value().port), .prefix = ""};
}

std::string url_of(const HttpAddress& address) {
  const bool address6 = address.host.find(':') != std::string::npos;
  const std::string host = address6 ? "[" + address.host + "]" : address.host;
  return (address.tls.enabled ? "https://" : "http://") + host + ":" + address.port +
         address.prefix;
}

std::vector<BundleTarget> targets_of(const std::vector<client::NodeView>& nodes,
                                     const std::vector<std::string>& endpoints,
                                     const std::vector<HttpAddress>& metrics) {
  std::vector<BundleTarget> targets;
  for (const client::NodeView& node : nodes) {
    targets.push_back({.view = node});
  }
  for (const std::string& endpoint : endpoints) {
    if (nodes.empty() && !endpoint.starts_with("srv:")) {
      targets.push_back({.view = {.address = endpoint}});
    }
  }
  for (const HttpAddress& address : metrics) {
    targets.push_back({.http = address});
  }
  return targets;
}

std::vector<BundleTarget> merge_names(std::vector<BundleTarget> targets, std::uint64_t cluster) {
  const auto by_id = [](const BundleTarget& a, const BundleTarget& b) {
    return a.view.node_id - 1 < b.view.node_id - 1;  // Those that nobody knows come last.
  };
  std::ranges::stable_sort(targets, by_id);
  std::vector<BundleTarget> merged;
  for (BundleTarget& target : targets) {
    cluster = cluster == 0 && target.identity.has_value() ? target.identity->cluster : cluster;
    const NodeIdentity identity = identity_in(cluster, target);
    const auto same = std::ranges::find_if(merged, [&](const BundleTarget& other) {
      return identity.node != 0 && same_node(identity, identity_in(cluster, other));
    });
    if (same != merged.end()) {
      take_name(*same, target);
      continue;
    }
    const bool numbered = identity.cluster == cluster &&
                          std::ranges::find(merged, identity.node, [](const BundleTarget& other) {
                            return other.view.node_id;
                          }) == merged.end();
    target.view.node_id = numbered ? identity.node : 0;
    target.identity = identity.node == 0 ? std::nullopt : std::optional{identity};
    merged.push_back(std::move(target));
  }
  std::ranges::stable_sort(merged, by_id);
  return merged;
}

std::vector<std::string> folders_of(const std::vector<BundleTarget>& targets) {
  std::vector<std::string> folders;
  std::size_t unknown = 0;
  for (const BundleTarget& target : targets) {
    folders.push_back(target.view.node_id == 0 ? "address-" + std::to_string(++unknown)
                                               : "node-" + std::to_string(target.view.node_id));
  }
  return folders;
}

}  // namespace gcoord::cli
