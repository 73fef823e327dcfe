// gcoordctl log level: the levels of nodes' logs, and others until they restart.
//
// All nodes are asked, one after the other, unless one is named.
#include "cli/log/level.h"

#include "cli/terminal/author.h"
#include "cli/terminal/command.h"
#include "cli/terminal/named_nodes.h"
#include "common/json/text.h"
#include "protocol/error_codes.h"
#include "protocol/limits.h"

#include <algorithm>
#include <map>
#include <memory>

namespace gcoord::cli {

namespace {

struct LevelFlags {
  std::string levels;
  std::uint32_t node = 0;  // 0: all.
};

int level(Context& context, const LevelFlags& flags) {
  LevelRows rows;
  const std::string who = author().substr(0, protocol::kBreakWhoBytesMax);
  const auto refused =
      ask_nodes(context, flags.node, [&](client::Client& client, std::uint32_t node) {
        rows.add(node, client.log_levels(node, {.levels = flags.levels, .who = who}));
      });
  if (refused) {
    return *refused;
  }
  context.output().print(Json{{"nodes", rows.json}}, rows.table);
  return code_of(rows.failure);
}

}  // namespace

std::string levels_text(const Json& levels) {
  std::map<std::string, std::size_t> counts;
  for (const JsonMember& component : levels.items()) {
    ++counts[component.value.is_string() ? component.value.text() : component.value.dump()];
  }
  if (counts.empty()) {
    return "";
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  std::string text = most->first;
  for (const JsonMember& component : levels.items()) {
    const Json& value = component.value;
    const std::string own = value.is_string() ? value.text() : value.dump();
    if (own != most->first) {
      text += "," + component.name + "=" + own;
    }
  }
  return text;
}

void LevelRows::add(std::uint32_t node, const client::Result<std::string>& answer) {
  const Json levels = answer.ok() ? parse_json(answer.value()).value("levels", Json{}) : Json{};
  if (levels.is_object()) {
    json.push_back({{"node", node}, {"levels", levels}});
    table.rows.push_back({std::to_string(node), levels_text(levels), ""});
    return;
  }
  const client::Status status =
      answer.ok() ? client::Status(client::StatusCode::Internal,
                                   "the node's answer has no levels",
                                   static_cast<std::uint32_t>(protocol::ErrorCode::ReplyMalformed))
                  : answer.status();
  failure = failure.ok() ? status : failure;
  json.push_back({{"node", node}, {"error", status.to_string()}});
  table.rows.push_back({std::to_string(node), "-", status.to_string()});
}

void add_log_commands(Command& app, Context& context) {
  auto flags = std::make_shared<LevelFlags>();
  Command* log = app.add_subcommand("log", "logs of nodes")->require_subcommand(1);
  Command* verb = log->add_subcommand(
      "level",
      "show the levels of the nodes' logs by component, or set them until the nodes end; a "
      "component that is not named keeps its level, unless LEVELS has one for the rest");
  verb->add_option("levels", flags->levels, "such as debug, peers=debug or warn,disk=info")
      ->type_name("LEVELS");
  verb->add_option("--node", flags->node, "only of this node (default: of all nodes)")
      ->type_name("ID");
  verb->callback([&context, flags] {
    context.choose([flags](Context& chosen) { return level(chosen, *flags); });
  });
}

}  // namespace gcoord::cli
