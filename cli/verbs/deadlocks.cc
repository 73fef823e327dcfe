// gcoordctl lock deadlocks: circles of waits that nodes found and opened lately.
#include "cli/terminal/command.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <chrono>

namespace gcoord::cli {

namespace {

std::string text_of(const Json& row, const char* field) {
  const Json value = row.value(field, Json{});
  return value.is_string() ? value.text() : value.dump();
}

// A row for each wait of a circle, in order.
void add_rows(Table& table, const Json& deadlock) {
  for (const Json& wait : deadlock.value("cycle", Json::array())) {
    const Json holders = wait.value("holders", Json::array());
    const Json holder = holders.empty() ? Json::object() : holders[0];
    const bool ended = text_of(wait, "session") == text_of(deadlock, "victim");
    table.rows.push_back({text_of(deadlock, "time_ms"),
                          text_of(wait, "session"),
                          text_of(wait, "name"),
                          text_of(wait, "shard"),
                          text_of(holder, "session"),
                          text_of(holder, "token"),
                          ended ? "ended" : ""});
  }
}

// Whoever led shard 0 at the time knows, so every node is asked.
int deadlocks(Context& context) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto others = client->wait_for_all_nodes(std::chrono::milliseconds(1000));
  static_cast<void>(others.ok());
  Json found = Json::array();
  Json unreachable = Json::array();
  Table table{{"TIME_MS", "SESSION", "WAITS_FOR", "SHARD", "HELD_BY", "TOKEN", "WAIT"}, {}, ""};
  for (const client::NodeView& node : client->cluster().nodes) {
    if (node.node_id == 0) {
      continue;
    }
    const auto report = client->lock_deadlocks(node.node_id);
    if (!report.ok()) {
      unreachable.push_back({{"node", node.node_id}, {"error", report.status().message()}});
      continue;
    }
    const Json json = parse_json(report.value());
    for (const Json& deadlock : json.value("deadlocks", Json::array())) {
      found.push_back(deadlock);
      add_rows(table, deadlock);
    }
  }
  if (!unreachable.empty()) {
    talk("the list may be incomplete: a node did not answer");
  }
  context.output().print({{"deadlocks", found}, {"unreachable", unreachable}}, table);
  return static_cast<int>(unreachable.empty() ? protocol::ExitCode::Ok
                                              : protocol::ExitCode::Unreachable);
}

}  // namespace

void add_lock_deadlocks_command(Command& lock, Context& context) {
  lock.add_subcommand("deadlocks", "show the deadlocks that were ended recently, with their waits")
      ->callback([&context] { context.choose([](Context& chosen) { return deadlocks(chosen); }); });
}

}  // namespace gcoord::cli
