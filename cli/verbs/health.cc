// gcoordctl health: whether the nodes are ready, for scripts and probes.
//
// It asks each node over the client's protocol, so that it needs no HTTP port. A node that answers
// is live; it is ready when all of its required checks hold. Exit codes: 0 every node is ready, 1
// some node is not, 3 some node does not answer, 4 all refuse it for a right (cluster.read). With
// --node the same of that node alone.
#include "cli/terminal/command.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::cli {

namespace {

// How long the nodes beyond the first get to connect: a probe must not hang on a dead node.
constexpr std::chrono::milliseconds kOthersTimeout{1000};

struct HealthOptions {
  std::uint32_t node = 0;  // 0: all.
};

std::string text_of(const Json& json, const char* field) {
  const Json value = json.value(field, Json{});
  return value.is_string() ? value.text() : value.dump();
}

Json unreachable(Json json, const std::string& error) {
  json["reachable"] = false;
  json["ready"] = false;
  json["error"] = error;
  return json;
}

// Of a node that tells nothing of its health, as older ones do, nothing is known.
Json examine(client::Client& client, const client::NodeView& node) {
  Json json = {{"node", node.node_id}, {"endpoint", node.address}};
  if (!node.connected) {
    return unreachable(json, node.last_error.empty() ? "not connected" : node.last_error);
  }
  const auto status = client.node_status(node.node_id);
  if (!status.ok()) {
    const bool refused =
        status.status().detail() == static_cast<std::uint32_t>(protocol::ErrorCode::NotAllowed);
    if (refused) {
      json["refused"] = true;
    }
    return unreachable(json, status.status().to_string());
  }
  json["reachable"] = true;
  const Json told = parse_json(status.value());
  const Json health = told.is_object() ? told.value("health", Json{}) : Json{};
  if (!health.is_object()) {
    json["ready"] = false;
    json["error"] = "this node's version tells nothing of its health";
    return json;
  }
  merge_members(json, health);
  return json;
}

// "majority: not heard: node 2 at ..." of each check that fails and is `required`, or is not.
std::vector<std::string> failing(const Json& node, bool required) {
  std::vector<std::string> lines;
  for (const Json& check : node.value("checks", Json::array())) {
    if (!check.value("ok", false) && check.value("required", true) == required) {
      lines.push_back(text_of(check, "name") + ": " + text_of(check, "detail"));
    }
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

Table table_of(const Json& nodes) {
  Table table{{"NODE", "ENDPOINT", "LIVE", "READY", "WHY NOT"}, {}, {}, {}};
  for (const Json& node : nodes) {
    const bool live = node.value("live", false) || node.value("refused", false);
    const bool ready = node.value("ready", false);
    const std::string error = node.value("error", std::string{});
    const std::string why = error.empty() ? joined(failing(node, true)) : error;
    // A node that refuses to say so may well be ready.
    const bool hidden = node.value("refused", false);
    table.rows.push_back({text_of(node, "node"),
                          text_of(node, "endpoint"),
                          live ? "yes" : "-",
                          hidden  ? "hidden"
                          : ready ? "yes"
                                  : "no",
                          why.empty() ? "-" : why});
    for (const std::string& warning : failing(node, false)) {
      table.notes.push_back("node " + text_of(node, "node") + ": WARNING: " + warning);
    }
  }
  return table;
}

protocol::ExitCode exit_code_of(const Json& nodes) {
  const auto all = [&](const char* field) {
    return std::all_of(
        nodes.begin(), nodes.end(), [field](const Json& node) { return node.value(field, false); });
  };
  if (!all("reachable")) {
    return nodes.size() != 0 && all("refused") ? protocol::ExitCode::Auth
                                               : protocol::ExitCode::Unreachable;
  }
  return all("ready") ? protocol::ExitCode::Ok : protocol::ExitCode::Negative;
}

int show_health(Context& context, const HealthOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto others = client->wait_for_all_nodes(std::min(context.timeout(), kOthersTimeout));
  static_cast<void>(others.ok());  // One that cannot be reached is a line of the answer.
  client::ClusterView cluster = client->cluster();
  std::sort(cluster.nodes.begin(), cluster.nodes.end(), [](const auto& a, const auto& b) {
    return a.node_id < b.node_id;
  });
  Json nodes = Json::array();
  for (const client::NodeView& node : cluster.nodes) {
    if (node.node_id != 0 && (options.node == 0 || node.node_id == options.node)) {
      nodes.push_back(examine(*client, node));
    }
  }
  if (nodes.empty()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionInvalid,
                             "--node: the cluster has no node " + std::to_string(options.node)));
  }
  const protocol::ExitCode code = exit_code_of(nodes);
  context.output().print({{"ready", code == protocol::ExitCode::Ok}, {"nodes", nodes}},
                         table_of(nodes));
  if (code == protocol::ExitCode::Auth) {
    talk(protocol::make_error(protocol::ErrorCode::NotAllowed, "cluster.read").to_string());
  }
  return static_cast<int>(code);
}

}  // namespace

void add_health_command(Command& app, Context& context) {
  const auto options = std::make_shared<HealthOptions>();
  Command* verb = add_verb(app,
                           context,
                           options,
                           "health",
                           "check whether the nodes are ready (exit code 0: all are)",
                           show_health);
  verb->add_option("--node", options->node, "check only this node")->type_name("ID");
  verb->footer("Exit codes: 0 ready, 1 a node is not ready, 3 a node does not answer.");
}

}  // namespace gcoord::cli
