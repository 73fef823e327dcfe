#include "cli/member/update.h"

#include "cli/member/change.h"
#include "cli/member/description.h"
#include "cli/member/named.h"
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <utility>

namespace gcoord::cli {

namespace {

std::optional<client::MemberUpdate> update_of(Context& context, const MemberUpdateFlags& flags) {
  client::MemberUpdate update{.node_id = 0,
                              .view = flags.change.epoch,
                              .name = flags.name,
                              .labels = {},
                              .dry_run = flags.change.dry_run,
                              .who = flags.change.author()};
  for (const std::string& text : flags.labels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      context.refuse(protocol::make_error(protocol::ErrorCode::MemberLabelInvalid, text));
      return std::nullopt;
    }
    update.labels.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  if (!update.name && update.labels.empty() && !flags.weight) {
    context.refuse(
        protocol::make_error(protocol::ErrorCode::OptionMissing, "--name, --label or --weight"));
    return std::nullopt;
  }
  return update;
}

// The change of votes; without one the view that the change made.
client::Result<client::ChangedMember> change(client::Client& client,
                                             const client::MemberUpdate& update,
                                             const MemberUpdateFlags& flags) {
  if (!flags.weight) {
    auto view = client.update_member(update);
    if (!view.ok()) {
      return view.status();
    }
    client::ChangedMember changed;
    changed.view = std::move(view).value();
    return changed;
  }
  return client.change_member({.action = client::MemberAction::Reweigh,
                               .node_id = update.node_id,
                               .replaces = 0,
                               .weight = *flags.weight,
                               .view = update.view,
                               .dry_run = update.dry_run,
                               .force = false,
                               .who = update.who});
}

}  // namespace

int update_member(Context& context, const MemberUpdateFlags& flags) {
  auto update = update_of(context, flags);
  if (!update) {
    return context.exit_code();
  }
  auto named = reach_named(context, flags.node);
  if (!named) {
    return context.exit_code();
  }
  update->node_id = named->id;
  const auto changed = change(named->client, *update, flags);
  if (!changed.ok()) {
    return context.fail(named->client, changed.status());
  }
  const client::MembershipView& view = changed.value().view;
  const auto member =
      std::ranges::find(view.members, named->id, &client::MemberDescription::node_id);
  if (member == view.members.end()) {
    return context.fail(protocol::make_error(protocol::ErrorCode::ReplyMalformed, "view"));
  }
  Json labels = Json::object();
  for (const client::MemberLabel& label : member->labels) {
    labels[label.key] = label.value;
  }
  Json json = {{"view", std::to_string(view.epoch)},
               {"node", member->node_id},
               {"name", member->name},
               {"weight", member->weight},
               {"labels", labels}};
  Json facts = json;
  facts["labels"] = labels_text(*member);
  if (flags.weight) {
    const Json votes = *change_result(changed.value(), flags.change.dry_run).facts;
    for (const char* const each : {"before", "after", "tolerance"}) {
      facts[each] = votes[each];
    }
  }
  const int code =
      end_change(context, flags.change, {.json = std::move(json), .facts = std::move(facts)});
  for (const std::string& line : flags.weight ? warnings_of(view) : std::vector<std::string>{}) {
    talk(line);
  }
  return code;
}

}  // namespace gcoord::cli
