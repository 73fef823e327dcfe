#include "cli/doctor/inquiry.h"

#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {
namespace {

std::uint64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

Json number_json(std::optional<std::uint64_t> number) {
  return number.has_value() ? Json(std::to_string(*number)) : Json();
}

Json node_json(const NodeFacts& node) {
  const auto offset = clock_offset(node);
  return {{"node", node.node},
          {"endpoint", node.endpoint},
          {"reachable", node.reachable()},
          {"version", node.text("version")},
          {"answer_ms", node.answered_ms - std::min(node.asked_ms, node.answered_ms)},
          {"clock_ahead_ms", offset.has_value() ? Json(offset->ahead_ms) : Json()},
          {"sync_p99_us", number_json(node.number("wal", "sync_p99_us"))}};
}

}  // namespace

NodeFacts ask_node(client::Client& client, const client::NodeView& node) {
  NodeFacts facts{.node = node.node_id, .endpoint = node.address};
  if (!node.connected) {
    facts.error = node.last_error.empty() ? "not connected" : node.last_error;
    return facts;
  }
  facts.asked_ms = unix_ms();
  const auto status = client.node_status(node.node_id);
  facts.answered_ms = unix_ms();
  facts.report = status.ok() ? parse_json(status.value()) : Json{};
  if (!facts.report.is_object()) {
    facts.error = status.ok() ? "its report is no JSON object" : status.status().to_string();
    facts.refused =
        status.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::NotAllowed);
  }
  return facts;
}

ClusterFacts ask_cluster(client::Client& client, std::chrono::milliseconds timeout) {
  static_cast<void>(client.wait_for_all_nodes(timeout));
  const client::ClusterView view = client.cluster();
  ClusterFacts facts{.shard_count = view.shard_count};
  for (const client::NodeView& node : view.nodes) {
    if (node.node_id == 0) {
      facts.unknown_endpoints.push_back(node.address);
    } else {
      facts.nodes.push_back(ask_node(client, node));
    }
  }
  std::ranges::sort(facts.nodes, {}, &NodeFacts::node);
  return facts;
}

bool is_healthy(const std::vector<Finding>& findings) {
  return std::ranges::all_of(findings,
                             [](const Finding& each) { return each.severity == Severity::Note; });
}

Json examination_json(const ClusterFacts& facts, const std::vector<Finding>& findings) {
  Json nodes = Json::array();
  for (const NodeFacts& node : facts.nodes) {
    nodes.push_back(node_json(node));
  }
  Json list = Json::array();
  for (const Finding& each : findings) {
    list.push_back({{"severity", severity_name(each.severity)},
                    {"check", each.check},
                    {"node", each.node},
                    {"what", each.what},
                    {"advice", each.advice}});
  }
  return {{"healthy", is_healthy(findings)}, {"nodes", nodes}, {"findings", list}};
}

}  // namespace gcoord::cli
