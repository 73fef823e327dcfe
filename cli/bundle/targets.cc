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

bool is_everywhere(const std::string& host) {
  return host == "0.0.0.0" || host == "::";
}

Result<HttpAddress> by_rule(const server::Endpoint& client) {
  const std::uint32_t port = client.port + kMetricsAboveClient;
  if (port > 65535) {
    return Status{StatusCode::NotFound, "the address of its metrics is not known; give --metrics"};
  }
  return HttpAddress{.host = client.host, .port = std::to_string(port), .prefix = ""};
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
  const server::Endpoint& found = metrics.value();
  const bool elsewhere = server::is_loopback(found) || is_everywhere(found.host);
  return HttpAddress{.host = elsewhere ? client.host : found.host,
                     .port = std::to_string(found.port),
                     .prefix = ""};
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
  return "http://" + host + ":" + address.port + address.prefix;
}

std::vector<BundleTarget> targets_of(const std::vector<client::NodeView>& nodes,
                                     const std::vector<std::string>& endpoints) {
  std::vector<BundleTarget> targets;
  for (const client::NodeView& node : nodes) {
    targets.push_back({.view = node, .http = std::nullopt});
  }
  std::ranges::stable_sort(targets, [](const BundleTarget& a, const BundleTarget& b) {
    // Those that nobody knows come last.
    return a.view.node_id - 1 < b.view.node_id - 1;
  });
  for (const std::string& endpoint : endpoints) {
    if (nodes.empty() && !endpoint.starts_with("srv:")) {
      client::NodeView view;
      view.address = endpoint;
      targets.push_back({.view = view, .http = std::nullopt});
    }
  }
  return targets;
}

void give_address(std::vector<BundleTarget>& targets, std::uint32_t node, HttpAddress address) {
  const auto found = std::ranges::find_if(targets, [&](const BundleTarget& target) {
    return node != 0 && target.view.node_id == node;
  });
  if (found != targets.end()) {
    found->http = std::move(address);
    return;
  }
  client::NodeView view;
  view.node_id = node;
  targets.push_back({.view = view, .http = std::move(address)});
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
