#include "cli/member/change.h"

#include "cli/member/description.h"
#include "cli/member/named.h"
#include "cli/terminal/command.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gcoord::cli {

namespace {

// Votes of those alive, until there is no majority.
std::uint32_t spare_of(const client::MemberTolerance& tolerance) {
  return tolerance.alive > tolerance.needed ? tolerance.alive - tolerance.needed : 0;
}

Json tolerance_json(const client::MemberTolerance& tolerance) {
  return {{"votes", tolerance.votes},
          {"alive", tolerance.alive},
          {"needed", tolerance.needed},
          {"may_fail", spare_of(tolerance)}};
}

std::string votes_text(const client::MemberTolerance& tolerance) {
  const std::uint32_t spare = spare_of(tolerance);
  return std::to_string(tolerance.alive) + " of " + std::to_string(tolerance.votes) +
         " votes alive, " + std::to_string(tolerance.needed) + " needed: " +
         (tolerance.alive < tolerance.needed ? "NO QUORUM"
          : spare == 0                       ? "none may fail"
                                             : std::to_string(spare) + " may fail");
}

std::string tolerance_text(std::uint32_t before, std::uint32_t after) {
  const std::string change = std::to_string(before) + " to " + std::to_string(after);
  return after < before   ? "FALLS from " + change + " votes that may fail"
         : after > before ? "rises from " + change + " votes that may fail"
                          : "holds";
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
  const int code =
      end_change(context, flags.base, change_result(changed.value(), flags.base.dry_run));
  for (const std::string& line : warnings_of(changed.value().view)) {
    talk(line);
  }
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

ChangeResult change_result(const client::ChangedMember& changed, bool dry_run) {
  Json json = changed_json(changed);
  Json facts = {{"view", json["view"]},
                {"node", json["node"]},
                {"name", json["name"]},
                {"state", json["state"]},
                {"weight", json["weight"]},
                {"before", votes_text(changed.before)},
                {"after", votes_text(changed.after)},
                {"tolerance", tolerance_text(spare_of(changed.before), spare_of(changed.after))}};
  const std::uint32_t shards = changed.progress.shards;
  const std::uint32_t settled = std::min(changed.progress.settled, shards);
  const std::string of_all = " of " + std::to_string(shards) + " shards ";
  if (dry_run) {
    facts["would_move"] = std::to_string(shards - settled) + of_all + "change nodes or votes";
    facts["would_hand_over"] = std::to_string(changed.handed_over) + of_all + "led by the node";
  } else if (shards != 0) {
    facts["moves"] = std::to_string(settled) + of_all + "settled";
  } else {
    facts["handed_over"] = changed.handed_over;  // Of move-leaders, which makes no view.
  }
  return {.json = std::move(json), .facts = std::move(facts)};
}

std::vector<std::string> warnings_of(const client::MembershipView& view) {
  std::vector<client::MemberDescription> voters;
  std::ranges::copy_if(view.members, std::back_inserter(voters), [](const auto& member) {
    const bool stays = member.state == client::MemberState::Active ||
                       member.state == client::MemberState::Draining;
    return stays && member.role != client::MemberRole::Observer;
  });
  std::uint32_t votes = 0;
  for (const client::MemberDescription& voter : voters) {
    votes += voter.weight;
  }
  std::vector<std::string> lines;
  for (const client::MemberDescription& voter : voters) {
    if (voters.size() > 1 && 2 * voter.weight > votes) {
      lines.push_back("node " + std::to_string(voter.node_id) + " has " +
                      std::to_string(voter.weight) + " of " + std::to_string(votes) +
                      " votes: it decides alone, and without it nothing is decided");
    }
  }
  const bool led = std::ranges::any_of(voters, [](const auto& voter) {
    return voter.state == client::MemberState::Active && voter.role == client::MemberRole::Voter;
  });
  if (!voters.empty() && !led) {
    lines.emplace_back(
        "every voter with state is draining: one of them goes on leading each shard until another "
        "is undrained or joins");
  }
  return lines;
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
