#include "server/members/member_changes.h"

#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "protocol/members/view_messages.h"
#include "server/interfaces/replies.h"
#include "server/members/change_rules.h"
#include "server/members/member_moves.h"
#include "server/platform/system_random.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::server {

namespace {

using membership::ClusterView;
using membership::Member;
using membership::MemberRole;
using membership::MemberState;
using membership::ViewCode;
using membership::ViewCommand;
using membership::ViewCommandKind;
using protocol::ErrorCode;
using protocol::JoinRequest;
using protocol::MemberAction;
using protocol::MemberActionOrder;
using protocol::RequestKind;

ViewCommand command_of(const JoinRequest& request, NodeId node, std::uint64_t epoch) {
  ViewCommand command;
  command.kind = ViewCommandKind::Admit;
  command.expected = epoch;
  command.step.node = node;
  command.step.proof = protocol::join_token_proof(request.token);
  command.step.directory = request.directory;
  command.step.name = request.name;
  command.step.peer_address = request.peer_address;
  command.step.client_address = request.client_address;
  command.step.labels = request.labels;
  return command;
}

const Member* invited_by(const ClusterView& view, const protocol::JoinToken& token) {
  const auto hash = protocol::join_token_hash(token);
  const auto found = std::ranges::find_if(view.nodes, [&hash](const Member& node) {
    return node.invitation && node.invitation->token_hash == hash;
  });
  return found == view.nodes.end() ? nullptr : &*found;
}

protocol::JoinToken draw_token(const std::function<std::uint64_t()>& draw) {
  protocol::JoinToken token{};
  const std::uint64_t words[2] = {draw ? draw() : draw_random(), draw ? draw() : draw_random()};
  static_assert(sizeof words == sizeof token);
  std::memcpy(token.data(), words, sizeof words);
  return token;
}

}  // namespace

MemberChanges::MemberChanges(Environment environment)
    : environment_(std::move(environment)), leader_moves_(environment_.log, environment_.machine) {}

bool MemberChanges::takes(RequestKind kind) {
  return kind == RequestKind::MemberChange || kind == RequestKind::MemberJoin ||
         kind == RequestKind::MemberProgress;
}

void MemberChanges::refuse(const Asker& asker, const Status& status) {
  refuse_asker(environment_.replies, asker, status);
}

void MemberChanges::on_request(protocol::ConnectionId connection,
                               const protocol::RequestSlot& request,
                               std::span<const std::byte> payload) {
  const Asker asker{connection, request};
  if (!admit_asker(environment_.replies, asker)) {
    return;
  }
  if (request.kind == RequestKind::MemberChange) {
    change(asker, payload);
  } else if (request.kind == RequestKind::MemberJoin) {
    join(asker, payload);
  } else {
    progress(asker);
  }
}

bool MemberChanges::serves(const Asker& asker) {
  const ShardView shard = environment_.log.view(kViewShard);
  if (shard.role != consensus::Role::Leader) {
    environment_.replies.reply(asker.connection, not_leader_reply(asker.request, shard.leader), {});
    return false;
  }
  if (environment_.machine.views().is_empty()) {
    refuse(asker, protocol::make_error(ErrorCode::ViewAbsent));
    return false;
  }
  return true;
}

void MemberChanges::progress(const Asker& asker) {
  if (serves(asker)) {
    environment_.replies.reply(asker.connection,
                               protocol::reply_to(asker.request),
                               protocol::encode_member_moves(moves_of(
                                   environment_.log, environment_.machine, environment_.keeper)));
  }
}

void MemberChanges::change(const Asker& asker, std::span<const std::byte> payload) {
  auto order = protocol::decode_member_action(payload);
  if (!order.ok()) {
    return refuse(asker, order.status());
  }
  if (!is_printable(order.value().who)) {
    return refuse(asker, protocol::make_error(ErrorCode::SlotInvalid));
  }
  if (environment_.fixed && !keeps_nodes(order.value())) {
    return refuse(asker, protocol::make_error(ErrorCode::MembersFixed));
  }
  note_author(environment_.replies.principal(asker.connection), order.value().who);
  if (order.value().action == MemberAction::MoveLeaders) {
    return hand_over(asker, order.value());
  }
  if (serves(asker)) {
    take_order({.asker = asker,
                .asked = std::move(order).value(),
                .command = {},
                .before = {},
                .attempts = 0});
  }
}

void MemberChanges::hand_over(const Asker& asker, const MemberActionOrder& order) {
  const NodeView node = environment_.log.view();
  if (order.node != node.node) {
    return refuse(asker,
                  protocol::make_error(ErrorCode::SlotInvalid, "only the node itself hands over"));
  }
  if (leader_moves_.under_way()) {
    return refuse(asker, protocol::make_error(ErrorCode::Overloaded));
  }
  Change change{.asker = asker, .asked = order, .command = {}, .before = {}, .attempts = 0};
  change.before = tolerance_of(environment_.machine.views().view(), live_nodes(node));
  if (order.dry_run) {
    return answer_order(change, environment_.machine.views().view(), false);
  }
  environment_.replies.park(asker.connection);
  leader_moves_.begin([this, change](std::uint32_t offered) {
    environment_.replies.unpark(change.asker.connection);
    protocol::MemberActionAnswer answer;
    answer.view = environment_.machine.views().view();
    answer.node = std::get<MemberActionOrder>(change.asked).node;
    answer.before = answer.after = change.before;
    answer.handed_over = offered;
    environment_.replies.reply(change.asker.connection,
                               protocol::reply_to(change.asker.request),
                               protocol::encode_member_action_answer(answer));
  });
}

// An order of the same number that made a view: its first answer was lost.
void MemberChanges::take_order(Change change) {
  const auto& order = std::get<MemberActionOrder>(change.asked);
  const membership::ViewCpu& state = environment_.machine.views();
  auto made = state.made_by(ordered(order, {}).kind, order.number);
  if (!made && order.action == MemberAction::Remove) {
    made = state.made_by(ViewCommandKind::Gone, order.number);
  }
  const auto made_view = made ? state.at(*made) : std::nullopt;
  change.before = tolerance_of(state.view(), live_nodes(environment_.log.view()));
  if (made_view) {
    return answer_order(change, *made_view, true);
  }
  if (const Status status = check_feature(order); !status.ok()) {
    return refuse(change.asker, status);
  }
  if (const Status status = check_name(order.name); !status.ok()) {
    return refuse(change.asker, status);
  }
  // The token is drawn when nothing speaks against the order.
  const protocol::Invitation later{.deadline_ms = environment_.wall_ms() + order.token_ms};
  change.command = ordered(order, later);
  ClusterView preview;
  if (const ViewCode code = state.preview(change.command, preview); code != ViewCode::Applied) {
    return refuse(change.asker, step_error(code, change.command, state.view()));
  }
  if (const Status status = judge(change, preview); !status.ok()) {
    return refuse(change.asker, status);
  }
  if (order.dry_run) {
    return answer_order(change, preview, false);
  }
  propose(std::move(change));
}

// Where the nodes are fixed, another one takes the number of the one that it replaces.
bool MemberChanges::is_renewal(const MemberActionOrder& order) const {
  return environment_.fixed && renews(order);
}

ViewCommand MemberChanges::ordered(const MemberActionOrder& order,
                                   const protocol::Invitation& invitation) const {
  const ClusterView& view = environment_.machine.views().view();
  if (is_renewal(order)) {
    return renewal_of(order, view.epoch, invitation);
  }
  ViewCommand command = server::command_of(order, view.epoch, invitation);
  const Member* const node = protocol::find_member(view, order.node);
  const bool leaves = node != nullptr && node->state == MemberState::Leaving;
  if (order.action == MemberAction::Remove && order.force && leaves) {
    command.kind = ViewCommandKind::Gone;
  }
  return command;
}

// With force the nodes of earlier releases that are down do not count: they are not to come back.
Status MemberChanges::check_feature(const MemberActionOrder& order) const {
  const std::vector<NodeId> live = live_nodes(environment_.log.view());
  const auto has = [&](NodeId node, protocol::Feature feature) {
    const bool lives = std::ranges::find(live, node) != live.end();
    return environment_.has(node, feature) || (order.force && !lives);
  };
  const NodeId lacks = lacking_members(environment_.machine.views(), has);
  if (lacks.value != 0) {
    return protocol::make_error(ErrorCode::MemberFeatureMissing,
                                "node " + std::to_string(lacks.value));
  }
  if (is_renewal(order)) {
    const auto others_have = [&](NodeId node, protocol::Feature feature) {
      return node == order.replaces || has(node, feature);
    };
    const NodeId old = first_lacking(
        environment_.machine.views().view(), protocol::Feature::Renewals, others_have);
    return old.value == 0 ? Status{}
                          : protocol::make_error(ErrorCode::MemberFeatureMissing,
                                                 "node " + std::to_string(old.value));
  }
  if (order.action != MemberAction::Add || order.role != MemberRole::Witness) {
    return {};
  }
  const NodeId knows_none =
      first_lacking(environment_.machine.views().view(), protocol::Feature::Witnesses, has);
  return knows_none.value == 0 ? Status{}
                               : protocol::make_error(ErrorCode::MemberFeatureMissing,
                                                      "node " + std::to_string(knows_none.value) +
                                                          " knows no witnesses");
}

Status MemberChanges::judge(const Change& change, const ClusterView& preview) const {
  const auto& order = std::get<MemberActionOrder>(change.asked);
  const ClusterView& view = environment_.machine.views().view();
  if (change.command.kind == ViewCommandKind::Gone) {
    return check_left(view.epoch);
  }
  GCOORD_TRY_STATUS(check_witnesses(view, preview, order.force));
  if (change.command.kind == ViewCommandKind::Renew) {
    GCOORD_TRY_STATUS(check_renewal(order, live_nodes(environment_.log.view())));
  }
  if (order.force) {
    return {};
  }
  if (!environment_.keeper.may_propose()) {
    return protocol::make_error(ErrorCode::ViewsNotLeft);
  }
  const std::vector<NodeId> live = live_nodes(environment_.log.view());
  if (order.action == MemberAction::Promote) {
    const bool lives = std::ranges::find(live, order.node) != live.end();
    const protocol::MemberMoves moves =
        moves_of(environment_.log, environment_.machine, environment_.keeper);
    if (!lives || !all_ready(moves, view.epoch)) {
      return protocol::make_error(
          ErrorCode::MemberLags,
          "of " + std::to_string(moves.shards) + " shards " + std::to_string(moves.ready) +
              " are known to be on all joining nodes" + (lives ? "" : ", and this one is down"));
    }
  }
  return check_quorum(tolerance_of(view, live), tolerance_of(preview, live));
}

// That a shard has the node still, force does not change.
Status MemberChanges::check_left(std::uint64_t epoch) const {
  const protocol::MemberMoves moves =
      moves_of(environment_.log, environment_.machine, environment_.keeper);
  return all_settled(moves, epoch)
             ? Status{}
             : protocol::make_error(ErrorCode::MemberLags,
                                    "of " + std::to_string(moves.shards) + " shards " +
                                        std::to_string(moves.settled) +
                                        " are known to have left the node");
}

// One per order: whoever asks again gets the same.
const MemberChanges::DrawnToken& MemberChanges::token_of(const MemberActionOrder& order) {
  const auto known = std::ranges::find(tokens_, order.number, &DrawnToken::number);
  if (known != tokens_.end()) {
    return *known;
  }
  if (tokens_.size() >= kTokensMax) {
    tokens_.pop_front();
  }
  tokens_.push_back(
      {order.number, draw_token(environment_.draw), environment_.wall_ms() + order.token_ms});
  return tokens_.back();
}

void MemberChanges::answer_order(const Change& change, const ClusterView& view, bool made) {
  const auto& order = std::get<MemberActionOrder>(change.asked);
  protocol::MemberActionAnswer answer;
  answer.view = view;
  answer.node = order.node;
  if (order.action == MemberAction::Add) {
    const bool renewed = is_renewal(order);
    const Member& added =
        renewed ? *protocol::find_member(view, order.replaces) : view.nodes.back();
    answer.node = added.id;
    const auto known = std::ranges::find(tokens_, order.number, &DrawnToken::number);
    if (made && known != tokens_.end()) {
      answer.token = known->token;
    }
    answer.deadline_ms = added.invitation ? added.invitation->deadline_ms : 0;
  }
  answer.before = change.before;
  answer.after = tolerance_of(view, live_nodes(environment_.log.view()));
  answer.moves = moves_of(environment_.log, environment_.machine, environment_.keeper);
  if (!made) {
    foretell(order, answer);
  }
  protocol::ReplySlot reply = protocol::reply_to(change.asker.request);
  reply.extra = view.epoch;
  environment_.replies.reply(
      change.asker.connection, reply, protocol::encode_member_action_answer(answer));
}

// Of a dry run: what would be left as it is, and what the node would hand over.
void MemberChanges::foretell(const MemberActionOrder& order,
                             protocol::MemberActionAnswer& answer) const {
  answer.moves = moves_to(answer.moves, environment_.machine.views().view(), answer.view);
  const bool hands_over = order.action == MemberAction::Drain ||
                          order.action == MemberAction::Remove ||
                          order.action == MemberAction::MoveLeaders;
  answer.handed_over = hands_over ? led_by(order.node, environment_.log, environment_.keeper) : 0;
}

void MemberChanges::join(const Asker& asker, std::span<const std::byte> payload) {
  auto request = protocol::decode_join_request(payload);
  if (!request.ok()) {
    return refuse(asker, request.status());
  }
  if (serves(asker)) {
    take_join({.asker = asker,
               .asked = std::move(request).value(),
               .command = {},
               .before = {},
               .attempts = 0});
  }
}

void MemberChanges::take_join(Change change) {
  const auto& request = std::get<JoinRequest>(change.asked);
  const membership::ViewCpu& state = environment_.machine.views();
  const ClusterView& view = state.view();
  const Member* const invited = invited_by(view, request.token);
  if (invited == nullptr) {
    const auto known = std::ranges::find(view.nodes, request.directory, &Member::directory);
    if (known == view.nodes.end()) {
      const bool spent = state.has_spent(request.token);
      return refuse(
          change.asker,
          protocol::make_error(spent ? ErrorCode::JoinTokenSpent : ErrorCode::JoinTokenUnknown));
    }
    if (known->state == MemberState::Removed) {
      return refuse(change.asker,
                    protocol::make_error(ErrorCode::MemberRemoved,
                                         "node " + std::to_string(known->id.value)));
    }
    // The answer has the cluster's secret. A node that is past joining has had it, so whoever asks
    // again found a token that had done its work.
    const bool again = known->state == MemberState::Joining &&
                       state.has_admitted(request.directory, request.token);
    return again ? answer_join(change, known->id)
                 : refuse(change.asker, protocol::make_error(ErrorCode::JoinTokenSpent));
  }
  if (const Status status = check_name(request.name); !status.ok()) {
    return refuse(change.asker, status);
  }
  if (const Status status = check_features(request); !status.ok()) {
    return refuse(change.asker, status);
  }
  if (!environment_.keeper.may_propose()) {
    return refuse(change.asker, protocol::make_error(ErrorCode::ViewsNotLeft));
  }
  change.command = command_of(request, invited->id, view.epoch);
  change.command.step.time_ms = environment_.wall_ms();
  ClusterView preview;
  if (const ViewCode code = state.preview(change.command, preview); code != ViewCode::Applied) {
    return refuse(change.asker, step_error(code, change.command, state.view()));
  }
  propose(std::move(change));
}

// A new node has to know all that the nodes which live have in common.
Status MemberChanges::check_features(const JoinRequest& request) const {
  const std::vector<NodeId> live = live_nodes(environment_.log.view());
  for (std::uint64_t rest = protocol::kFeatures; rest != 0; rest &= rest - 1) {
    const std::uint64_t bit = rest & (~rest + 1);
    const auto feature = static_cast<protocol::Feature>(bit);
    const bool common =
        std::ranges::all_of(live, [&](NodeId node) { return environment_.has(node, feature); });
    const bool used =
        feature == protocol::Feature::Members || (feature == protocol::Feature::Witnesses &&
                                                  has_witness(environment_.machine.views().view()));
    const bool needed = common || used;
    if (needed && (request.features & bit) == 0) {
      return protocol::make_error(ErrorCode::JoinFeaturesMissing,
                                  "feature bit " + std::to_string(std::countr_zero(bit)));
    }
  }
  return {};
}

void MemberChanges::answer_join(const Change& change, NodeId node) {
  const ClusterView& view = environment_.machine.views().view();
  protocol::JoinAnswer answer{
      .cluster = environment_.log.view().cluster, .node = node, .view = view, .sealed_secret = {}};
  if (seal_secret_) {
    answer.sealed_secret = seal_secret_(std::get<JoinRequest>(change.asked).token, node);
  }
  protocol::ReplySlot reply = protocol::reply_to(change.asker.request);
  reply.extra = view.epoch;
  environment_.replies.reply(change.asker.connection, reply, protocol::encode_join_answer(answer));
}

void MemberChanges::propose(Change change) {
  if (changes_.size() >= kChangesMax) {
    return refuse(change.asker, protocol::make_error(ErrorCode::Overloaded));
  }
  const auto* const order = std::get_if<MemberActionOrder>(&change.asked);
  if (order != nullptr && order->action == MemberAction::Add) {
    const DrawnToken& drawn = token_of(*order);
    change.command.step.invitation = {protocol::join_token_hash(drawn.token), drawn.deadline_ms};
  }
  const std::uint64_t cookie = cookies_.next();
  const std::vector<std::byte> record =
      view_record(membership::encode_view_command(change.command),
                  environment_.replies.origin(change.asker.connection),
                  environment_.wall_ms());
  ++change.attempts;
  changes_.emplace(cookie, std::move(change));
  environment_.log.propose(kViewShard, record, cookie);
}

void MemberChanges::on_decided(std::uint64_t cookie, ViewCode code) {
  auto node = changes_.extract(cookie);
  if (node.empty()) {
    return;
  }
  Change change = std::move(node.mapped());
  const membership::ViewCpu& state = environment_.machine.views();
  const auto* const order = std::get_if<MemberActionOrder>(&change.asked);
  if (code == ViewCode::Applied && order == nullptr) {
    return answer_join(change, change.command.step.node);
  }
  if (code == ViewCode::Applied) {
    return answer_order(change, state.view(), true);
  }
  // Another change was faster. It may have been this one: then it is answered as such.
  if (code == ViewCode::Stale && change.attempts < kAttemptsMax) {
    return order != nullptr ? take_order(std::move(change)) : take_join(std::move(change));
  }
  refuse(change.asker, step_error(code, change.command, state.view()));
}

void MemberChanges::on_lost(std::uint64_t cookie, const Status& status, NodeId leader_hint) {
  if (auto change = changes_.extract(cookie); !change.empty()) {
    environment_.replies.reply(change.mapped().asker.connection,
                               engine_refusal(change.mapped().asker.request, status, leader_hint),
                               {});
  }
}

}  // namespace gcoord::server
