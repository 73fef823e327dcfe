// gcoordctl shard ls | show: replicas of shards as the nodes see them.
#include "cli/terminal/any_node.h"
#include "cli/terminal/command.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"

#include <memory>

namespace gcoord::cli {

namespace {

struct ShardOptions {
  std::uint32_t node = 0;  // 0: for ls the first that is connected, for show all.
  std::uint32_t first = 0;
  std::uint32_t limit = 20;
  std::uint32_t shard = 0;
};

std::string text_of(const Json& row, const char* field) {
  const Json value = row.value(field, Json{});
  return value.is_string() ? value.text() : value.dump();
}

void add_row(Table& table, const Json& row, const std::string& node) {
  table.rows.push_back({text_of(row, "shard"),
                        node,
                        text_of(row, "role"),
                        text_of(row, "term"),
                        text_of(row, "leader"),
                        text_of(row, "commit"),
                        text_of(row, "applied"),
                        text_of(row, "last"),
                        text_of(row, "locks"),
                        text_of(row, "state_hash")});
}

// A node that said nothing; why not stands where its role would.
void add_silent_row(Table& table, std::uint32_t shard, const Json& node) {
  std::vector<std::string> row(table.columns.size(), "-");
  row[0] = std::to_string(shard);
  row[1] = text_of(node, "node");
  row[2] = text_of(node, "error");
  table.rows.push_back(std::move(row));
}

Table empty_table() {
  return {
      {"SHARD", "NODE", "ROLE", "TERM", "LEADER", "COMMIT", "APPLIED", "LAST", "LOCKS", "STATE"},
      {}};
}

client::Status not_connected(const client::NodeView& node) {
  return {client::StatusCode::Unavailable,
          node.last_error.empty() ? "not connected" : node.last_error,
          static_cast<std::uint32_t>(protocol::ErrorCode::Unreachable)};
}

int list_shards(Context& context, const ShardOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const std::uint32_t node = options.node != 0 ? options.node : any_node(*client);
  const auto listed = client->shard_list(node, options.first, options.limit);
  if (!listed.ok()) {
    return context.fail(*client, listed.status());
  }
  const Json json = parse_json(listed.value());
  Table table = empty_table();
  for (const Json& row : json.value("rows", Json::array())) {
    add_row(table, row, std::to_string(node));
  }
  context.output().print(json, table);
  return 0;
}

int show_shard(Context& context, const ShardOptions& options) {
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  if (options.shard >= client->cluster().shard_count) {
    return context.fail(protocol::make_error(protocol::ErrorCode::ShardOutOfRange,
                                             "shard " + std::to_string(options.shard) + " of " +
                                                 std::to_string(client->cluster().shard_count)));
  }
  const auto others = client->wait_for_all_nodes(std::chrono::milliseconds(1000));
  static_cast<void>(others.ok());
  Json replicas = Json::array();
  Json unreachable = Json::array();
  Table table = empty_table();
  for (const client::NodeView& node : client->cluster().nodes) {
    const bool asked = options.node == 0 || options.node == node.node_id;
    if (!asked || node.node_id == 0) {
      continue;
    }
    const auto shown = node.connected ? client->shard_show(node.node_id, options.shard)
                                      : client::Result<std::string>{not_connected(node)};
    if (!shown.ok()) {
      unreachable.push_back({{"node", node.node_id},
                             {"endpoint", node.address},
                             {"error", shown.status().message()}});
      add_silent_row(table, options.shard, unreachable.back());
      continue;
    }
    replicas.push_back(parse_json(shown.value()));
    add_row(table, replicas.back(), std::to_string(node.node_id));
  }
  if (replicas.empty() && unreachable.empty()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionInvalid,
                             "--node: the cluster has no node " + std::to_string(options.node)));
  }
  const Json json = {
      {"shard", options.shard}, {"replicas", replicas}, {"unreachable", unreachable}};
  context.output().print(json, table);
  return static_cast<int>(unreachable.empty() ? protocol::ExitCode::Ok
                                              : protocol::ExitCode::Unreachable);
}

}  // namespace

void add_shard_commands(Command& app, Context& context) {
  auto options = std::make_shared<ShardOptions>();
  Command* shard = app.add_subcommand("shard", "show shards")->require_subcommand(1);
  Command* ls = shard->add_subcommand("ls", "list the replicas of one node");
  ls->add_option("--node", options->node, "node to ask")->type_name("ID");
  ls->add_option("--first", options->first, "first shard")->type_name("SHARD");
  ls->add_option("--limit", options->limit, "maximum number of rows (default 20)")
      ->in_range(1, 2048)
      ->type_name("N");
  ls->callback([&context, options] {
    context.choose([options](Context& chosen) { return list_shards(chosen, *options); });
  });
  Command* show = shard->add_subcommand("show", "show all replicas of a shard");
  show->add_option("SHARD", options->shard, "number of the shard")->required();
  show->add_option("--node", options->node, "query only this node")->type_name("ID");
  show->callback([&context, options] {
    context.choose([options](Context& chosen) { return show_shard(chosen, *options); });
  });
}

}  // namespace gcoord::cli
