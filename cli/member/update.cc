#include "cli/member/update.h"

#include "cli/member/description.h"
#include "cli/terminal/author.h"
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <algorithm>

namespace gcoord::cli {

int update_member(Context& context, const MemberUpdateFlags& flags) {
  client::MemberUpdate update{.node_id = flags.node,
                              .view = flags.view,
                              .name = flags.name,
                              .labels = {},
                              .dry_run = flags.dry_run,
                              .who = flags.who.empty() ? author() : flags.who};
  for (const std::string& text : flags.labels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return context.fail(protocol::make_error(protocol::ErrorCode::MemberLabelInvalid, text));
    }
    update.labels.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  if (!update.name && update.labels.empty()) {
    return context.fail(
        protocol::make_error(protocol::ErrorCode::OptionMissing, "--name or --label"));
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto view = client->update_member(update);
  if (!view.ok()) {
    return context.fail(*client, view.status());
  }
  const auto member =
      std::ranges::find(view.value().members, flags.node, &client::MemberDescription::node_id);
  if (member == view.value().members.end()) {
    return context.fail(protocol::make_error(protocol::ErrorCode::ReplyMalformed, "view"));
  }
  Json labels = Json::object();
  for (const client::MemberLabel& label : member->labels) {
    labels[label.key] = label.value;
  }
  Json json = {{"view", std::to_string(view.value().epoch)},
               {"node", member->node_id},
               {"name", member->name},
               {"labels", labels},
               {"dry_run", flags.dry_run}};
  if (context.output().format() == Format::Tables) {
    json["labels"] = labels_text(*member);
  }
  context.output().print_facts(json);
  return 0;
}

}  // namespace gcoord::cli
