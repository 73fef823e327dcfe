#include "cli/member/change.h"

#include "cli/member/description.h"
#include "cli/member/named.h"
#include "cli/terminal/command.h"

#include <algorithm>
#include <utility>

namespace gcoord::cli {

namespace {

Json tolerance_json(const client::MemberTolerance& tolerance) {
  const std::uint32_t spare =
      tolerance.alive > tolerance.needed ? tolerance.alive - tolerance.needed : 0;
  return {{"votes", tolerance.votes},
          {"alive", tolerance.alive},
          {"needed", tolerance.needed},
          {"may_fail", spare}};
}

struct Verb {
  client::MemberAction action{};
  std::optional<MemberGoal> goal;
};

int change_member(Context& context, const MemberChangeFlags& flags, const Verb& verb) {
  auto named = reach_named(context, flags.node);
  if (!named) {
    return context.exit_code();
  }
  const auto changed = named->client.change_member(change_of(verb.action, named->id, flags));
  if (!changed.ok()) {
    return context.fail(named->client, changed.status());
  }
  const int code = end_change(
      context, flags.base, change_result(changed_json(changed.value()), changed.value()));
  return flags.waits() && verb.goal
             ? await_member(context, named->client, {.node_id = named->id, .goal = *verb.goal})
             : code;
}

}  // namespace

client::MemberChange change_of(client::MemberAction action,
                               std::uint32_t node_id,
                               const MemberChangeFlags& flags) {
  client::MemberChange change;
  change.action = action;
  change.node_id = node_id;
  change.view = flags.base.epoch;
  change.dry_run = flags.base.dry_run;
  change.force = flags.force;
  change.who = flags.base.author();
  return change;
}

Json changed_json(const client::ChangedMember& changed) {
  const auto member =
      std::ranges::find(changed.view.members, changed.node_id, &client::MemberDescription::node_id);
  const bool known = member != changed.view.members.end();
  return {{"view", std::to_string(changed.view.epoch)},
          {"node", changed.node_id},
          {"name", known ? member->name : ""},
          {"state", known ? state_text(member->state) : ""},
          {"weight", known ? member->weight : 0},
          {"handed_over", changed.handed_over},
          {"before", tolerance_json(changed.before)},
          {"after", tolerance_json(changed.after)},
          {"moves", progress_json(changed.progress)}};
}

ChangeResult change_result(Json json, const client::ChangedMember& changed) {
  Json facts = json;
  const auto spoken = [](const client::MemberTolerance& tolerance) {
    const bool holds = tolerance.alive >= tolerance.needed;
    return std::to_string(tolerance.alive) + " of " + std::to_string(tolerance.votes) +
           " votes alive, " + std::to_string(tolerance.needed) + " needed" +
           (holds ? "" : ": NO QUORUM");
  };
  facts["before"] = spoken(changed.before);
  facts["after"] = spoken(changed.after);
  facts["moves"] = std::to_string(std::min(changed.progress.settled, changed.progress.shards)) +
                   " of " + std::to_string(changed.progress.shards) + " shards settled";
  return {.json = std::move(json), .facts = std::move(facts)};
}

int promote_member(Context& context, const MemberChangeFlags& flags) {
  return change_member(context, flags, {client::MemberAction::Promote, MemberGoal::Active});
}

int remove_member(Context& context, const MemberChangeFlags& flags) {
  return change_member(context, flags, {client::MemberAction::Remove, MemberGoal::Gone});
}

int drain_member(Context& context, const MemberChangeFlags& flags) {
  return change_member(context, flags, {client::MemberAction::Drain, MemberGoal::Drained});
}

int undrain_member(Context& context, const MemberChangeFlags& flags) {
  return change_member(context, flags, {client::MemberAction::Undrain, std::nullopt});
}

int move_leaders(Context& context, const MemberChangeFlags& flags) {
  return change_member(context, flags, {client::MemberAction::MoveLeaders, MemberGoal::Drained});
}

}  // namespace gcoord::cli
