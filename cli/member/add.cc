#include "cli/member/add.h"

#include "cli/member/description.h"
#include "cli/member/join_command.h"
#include "cli/member/named.h"
#include "cli/member/wait.h"
#include "cli/terminal/command.h"
#include "common/text/utc_text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace gcoord::cli {

namespace {

using client::MemberState;
using protocol::ErrorCode;

std::optional<client::MemberAddition> addition_of(Context& context, const MemberAddFlags& flags) {
  if (flags.observer && flags.weight.value_or(0) != 0) {
    context.refuse(
        protocol::make_error(ErrorCode::MemberWeightInvalid, "an observer has no votes"));
    return std::nullopt;
  }
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

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char byte) { return byte >= '0' && byte <= '9'; });
}

// The cluster, and the change that it is to make.
struct Order {
  Context& context;
  client::Client& client;
  const MemberAddFlags& flags;
};

// Prints first: the token is needed before there is anything to wait for.
void print_addition(const Order& order, const client::ChangedMember& added) {
  const std::uint64_t deadline = unix_ms(added.token_deadline);
  const bool known = !added.token.empty();
  const JoinTrust trust =
      known ? trust_of(order.client, order.context.globals().tls_options().enabled) : JoinTrust{};
  ChangeResult result = change_result(added, order.flags.change.base.dry_run);
  result.json["deadline_ms"] = std::to_string(deadline);
  (*result.facts)["deadline"] = deadline == 0 ? "-" : utc_text(deadline);
  for (Json* const shown : {&result.json, &*result.facts}) {
    (*shown)["token"] = added.token;
    (*shown)["certificate_command"] = known ? certificate_command(added, trust) : "";
    (*shown)["command"] = known ? join_command(added, trust) : "";
  }
  end_change(order.context, order.flags.change.base, std::move(result));
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
  const MemberWait wait{
      .node_id = added.value().node_id,
      .goal = order.flags.learner ? MemberGoal::Joined : MemberGoal::Active,
      // A resident cluster gives the number itself to the new node.
      .replaces = addition.replaces == added.value().node_id ? 0 : addition.replaces,
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

Result<std::uint32_t> successor_of(const client::MembershipView& view, const std::string& text) {
  const auto known = text.empty() ? std::nullopt : find_named(view, text);
  if (!known) {
    return is_number(text)
               ? Result<std::uint32_t>{protocol::make_error(
                     ErrorCode::MemberUnknown, text + "; NEW is a name, or a node that joins")}
               : Result<std::uint32_t>{0u};
  }
  if (known->state == MemberState::Joining && !known->invited) {
    return known->node_id;
  }
  const std::string node = "node " + std::to_string(known->node_id) + " \"" + known->name + "\"";
  if (known->state == MemberState::Removed) {
    return protocol::make_error(ErrorCode::MemberRemoved, node);
  }
  const std::string state =
      known->invited ? "invited, and nobody has come with its token yet" : state_text(known->state);
  return protocol::make_error(ErrorCode::MemberStateWrong,
                              node + " is " + state + "; NEW joins, or is a name of no node");
}

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
    const bool left = find_left(view.value(), flags.change.node).has_value();
    return context.fail(protocol::make_error(
        left ? ErrorCode::MemberRemoved : ErrorCode::MemberUnknown, flags.change.node));
  }
  const auto joins = successor_of(view.value(), flags.name);
  if (!joins.ok()) {
    return context.fail(joins.status());
  }
  if (joins.value() != 0) {
    return promote_in_place({context, *client, flags}, joins.value(), old->node_id);
  }
  addition->replaces = old->node_id;
  addition->role = old->role;
  addition->weight = flags.weight.value_or(old->weight);
  return add({context, *client, flags}, *addition);
}

}  // namespace gcoord::cli
