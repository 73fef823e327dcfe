// gcoordctl doctor: asks every node how it is and says what an operator should look at.
#include "cli/doctor/examination.h"
#include "cli/doctor/facts.h"
#include "cli/terminal/command.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

// How long the nodes beyond the first get to answer.
constexpr milliseconds kOthersTimeout{1000};

std::uint64_t unix_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(since).count());
}

NodeFacts ask(client::Client& client, const client::NodeView& node) {
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
  }
  return facts;
}

ClusterFacts look_at(client::Client& client, milliseconds timeout) {
  static_cast<void>(client.wait_for_all_nodes(std::min(timeout, kOthersTimeout)));
  const client::ClusterView view = client.cluster();
  ClusterFacts facts{.shard_count = view.shard_count};
  for (const client::NodeView& node : view.nodes) {
    if (node.node_id == 0) {
      facts.unknown_endpoints.push_back(node.address);
    } else {
      facts.nodes.push_back(ask(client, node));
    }
  }
  std::ranges::sort(facts.nodes, {}, &NodeFacts::node);
  return facts;
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

int examine_cluster(Context& context) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const ClusterFacts facts = look_at(*client, context.timeout());
  const std::vector<Finding> findings = examine(facts, ExaminationLimits{});
  const bool healthy = std::ranges::all_of(
      findings, [](const Finding& each) { return each.severity == Severity::Note; });
  Json nodes = Json::array();
  for (const NodeFacts& node : facts.nodes) {
    nodes.push_back(node_json(node));
  }
  Json list = Json::array();
  Table table{{"SEVERITY", "CHECK", "NODE", "FINDING", "ADVICE"}, {}, {}, {}};
  for (const Finding& each : findings) {
    list.push_back({{"severity", severity_name(each.severity)},
                    {"check", each.check},
                    {"node", each.node},
                    {"what", each.what},
                    {"advice", each.advice}});
    table.rows.push_back({std::string{severity_name(each.severity)},
                          std::string{each.check},
                          each.node == 0 ? "-" : std::to_string(each.node),
                          each.what,
                          each.advice});
  }
  table.caption = (healthy ? "healthy: " : "NOT healthy: ") + std::to_string(facts.nodes.size()) +
                  " nodes, " + std::to_string(check_names().size()) + " checks";
  context.output().print({{"healthy", healthy}, {"nodes", nodes}, {"findings", list}}, table);
  const bool all = std::ranges::all_of(facts.nodes, &NodeFacts::reachable);
  return static_cast<int>(healthy ? protocol::ExitCode::Ok
                          : all   ? protocol::ExitCode::Negative
                                  : protocol::ExitCode::Unreachable);
}

}  // namespace

void add_doctor_command(Command& app, Context& context) {
  app.add_subcommand("doctor",
                     "check the cluster: nodes, versions, clocks, disks, leaders and ledger; "
                     "exit 1 if something needs attention, 3 if a node does not answer")
      ->callback([&context] { context.choose(examine_cluster); });
}

}  // namespace gcoord::cli
