#include "cli/member/add.h"

#include "cli/member/description.h"
#include "cli/member/join_command.h"
#include "cli/member/named.h"
#include "cli/member/wait.h"
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"

#include <chrono>
#include <utility>

namespace gcoord::cli {

namespace {

using client::MemberState;
using protocol::ErrorCode;

std::optional<client::MemberAddition> addition_of(Context& context, const MemberAddFlags& flags) {
  client::MemberAddition addition;
  addition.role = flags.observer  ? client::MemberRole::Observer
                  : flags.witness ? client::MemberRole::Witness
                                  : client::MemberRole::Voter;
  addition.weight = flags.weight.value_or(1);
  addition.auto_promote = !flags.learner;
  addition.name = flags.name;
  addition.view = flags.change.base.epoch;
  addition.dry_run = flags.change.base.dry_run;
  addition.force = flags.change.force;
  addition.who = flags.change.base.author();
  for (const std::string& text : flags.labels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      context.refuse(protocol::make_error(ErrorCode::MemberLabelInvalid, text));
      return std::nullopt;
    }
    addition.labels.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  const auto ttl = context.duration("--token-ttl", flags.token_ttl);
  if (!ttl) {
    return std::nullopt;
  }
  addition.token_ttl = *ttl;
  return addition;
}

// The cluster, and the change that it is to make.
struct Order {
  Context& context;
  client::Client& client;
  const MemberAddFlags& flags;
};

// Prints first: the token is needed before there is anything to wait for.
void print_addition(const Order& order, const client::ChangedMember& added) {
  const auto deadline = std::chrono::duration_cast<std::chrono::milliseconds>(
      added.token_deadline.time_since_epoch());
  Json json = changed_json(added);
  json["token"] = added.token;
  json["deadline_ms"] = std::to_string(deadline.count());
  const bool known = !added.token.empty();
  const JoinTrust trust =
      known ? trust_of(order.client, order.context.globals().tls_options().enabled) : JoinTrust{};
  json["certificate_command"] = known ? certificate_command(added, trust) : "";
  json["command"] = known ? join_command(added, trust) : "";
  end_change(order.context, order.flags.change.base, change_result(std::move(json), added));
  if (known && (trust.clients || trust.peers)) {
    talk(
        "First make its certificate where the CA is, and copy it, its key, ca.crt and ca.crl to "
        "/etc/gcoord of the new host.");
  }
}

int add(const Order& order, const client::MemberAddition& addition) {
  const auto added = order.client.add_member(addition);
  if (!added.ok()) {
    return order.context.fail(order.client, added.status());
  }
  print_addition(order, added.value());
  if (!addition.dry_run && added.value().token.empty()) {
    talk("the node that drew the token cannot be asked any more: remove node " +
         std::to_string(added.value().node_id) + " and add another");
    return static_cast<int>(protocol::ExitCode::Negative);
  }
  const MemberWait wait{.node_id = added.value().node_id,
                        .goal = order.flags.learner ? MemberGoal::Joined : MemberGoal::Active,
                        .replaces = addition.replaces,
                        .invited_until = added.value().token_deadline};
  return order.flags.change.waits() ? await_member(order.context, order.client, wait) : 0;
}

// A node that joins already takes the place at once.
int promote_in_place(const Order& order, std::uint32_t node, std::uint32_t replaced) {
  client::MemberChange change = change_of(client::MemberAction::Promote, node, order.flags.change);
  change.replaces = replaced;
  const auto changed = order.client.change_member(change);
  if (!changed.ok()) {
    return order.context.fail(order.client, changed.status());
  }
  print_addition(order, changed.value());
  const MemberWait wait{.node_id = node, .goal = MemberGoal::Active, .replaces = replaced};
  return order.flags.change.waits() ? await_member(order.context, order.client, wait) : 0;
}

}  // namespace

int add_member(Context& context, const MemberAddFlags& flags) {
  const auto addition = addition_of(context, flags);
  if (!addition) {
    return context.exit_code();
  }
  auto client = context.connect();
  return client.has_value() ? add({context, *client, flags}, *addition) : context.exit_code();
}

// The new one has the role and the weight of the old one, unless another weight is given.
int replace_member(Context& context, const MemberAddFlags& flags) {
  auto addition = addition_of(context, flags);
  if (!addition) {
    return context.exit_code();
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const auto view = client->view();
  if (!view.ok()) {
    return context.fail(*client, view.status());
  }
  const auto old = find_named(view.value(), flags.change.node);
  if (!old) {
    return context.fail(protocol::make_error(ErrorCode::MemberUnknown, flags.change.node));
  }
  const auto joins = flags.name.empty() ? std::nullopt : find_named(view.value(), flags.name);
  if (joins && joins->state == MemberState::Joining && !joins->invited) {
    return promote_in_place({context, *client, flags}, joins->node_id, old->node_id);
  }
  addition->replaces = old->node_id;
  addition->role = old->role;
  addition->weight = flags.weight.value_or(old->weight);
  return add({context, *client, flags}, *addition);
}

}  // namespace gcoord::cli
