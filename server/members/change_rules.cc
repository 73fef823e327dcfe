#include "server/members/change_rules.h"

#include "common/text/printable.h"
#include "protocol/error_codes.h"
#include "server/interfaces/cluster_members.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

namespace gcoord::server {

namespace {

using membership::ViewCode;
using membership::ViewCommand;
using membership::ViewCommandKind;
using protocol::ErrorCode;
using protocol::MemberAction;
using protocol::MemberRole;
using protocol::MemberState;

ViewCommandKind kind_of(MemberAction action) {
  switch (action) {
    case MemberAction::Add:
      return ViewCommandKind::Add;
    case MemberAction::Promote:
      return ViewCommandKind::Promote;
    case MemberAction::Remove:
      return ViewCommandKind::Leave;
    case MemberAction::Drain:
      return ViewCommandKind::Drain;
    case MemberAction::Undrain:
      return ViewCommandKind::Undrain;
    case MemberAction::Reweigh:
    case MemberAction::MoveLeaders:
      break;
  }
  return ViewCommandKind::Reweigh;
}

struct CodeError {
  ViewCode code;
  ErrorCode error;
};

constexpr CodeError kStepErrors[] = {
    {ViewCode::Stale, ErrorCode::ViewStale},
    {ViewCode::NodeUnknown, ErrorCode::MemberUnknown},
    {ViewCode::NodeRemoved, ErrorCode::MemberRemoved},
    {ViewCode::NameInvalid, ErrorCode::MemberNameInvalid},
    {ViewCode::NameTaken, ErrorCode::MemberNameTaken},
    {ViewCode::LabelInvalid, ErrorCode::MemberLabelInvalid},
    {ViewCode::StateWrong, ErrorCode::MemberStateWrong},
    {ViewCode::RoleWrong, ErrorCode::MemberRoleWrong},
    {ViewCode::WeightInvalid, ErrorCode::MemberWeightInvalid},
    {ViewCode::AddressTaken, ErrorCode::MemberAddressTaken},
    {ViewCode::AddressInvalid, ErrorCode::MemberAddressInvalid},
    {ViewCode::DirectoryTaken, ErrorCode::MemberDirectoryTaken},
    {ViewCode::ReplaceInvalid, ErrorCode::MemberReplaceInvalid},
    {ViewCode::TokenUnknown, ErrorCode::JoinTokenUnknown},
    {ViewCode::TokenSpent, ErrorCode::JoinTokenSpent},
    {ViewCode::TokenLate, ErrorCode::JoinTokenLate},
    {ViewCode::LastVoter, ErrorCode::LastVoter},
    {ViewCode::TooManyVoters, ErrorCode::VotersExhausted},
    {ViewCode::TooManyNodes, ErrorCode::MembersExhausted},
};

// Which node has an address that the step names, and which one that is.
std::string holder_text(const membership::MemberStep& step, const membership::ClusterView& view) {
  for (const membership::Member& node : view.nodes) {
    const bool other = node.id != step.node && node.state != MemberState::Removed;
    const bool peer = !step.peer_address.empty() && node.peer_address == step.peer_address;
    const bool client = !step.client_address.empty() && node.client_address == step.client_address;
    if (other && (peer || client)) {
      return (peer ? step.peer_address : step.client_address) + " is node " +
             std::to_string(node.id.value) + "'s, \"" + node.name + "\"";
    }
  }
  return {};
}

std::string evidence_of(ViewCode code,
                        const ViewCommand& command,
                        const membership::ClusterView& view) {
  const membership::MemberStep& step = command.step;
  switch (code) {
    case ViewCode::NameInvalid:
    case ViewCode::NameTaken:
      return shown(step.name);
    case ViewCode::Stale:
      return "the view is " + std::to_string(view.epoch) + ", the change is for " +
             std::to_string(command.expected);
    case ViewCode::AddressTaken:
      return holder_text(step, view);
    default:
      break;
  }
  const NodeId node = code == ViewCode::ReplaceInvalid ? step.replaces : step.node;
  return node.value == 0 ? "" : "node " + std::to_string(node.value);
}

struct Staying {
  std::size_t voters = 0;  // With state: active or draining, and no other role takes their place.
  std::size_t witnesses = 0;  // Those to come, too.
};

Staying count_staying(const membership::ClusterView& view) {
  Staying staying;
  for (const membership::Member& node : view.nodes) {
    const bool there = node.state == MemberState::Active || node.state == MemberState::Draining;
    const auto heir = std::ranges::find(view.nodes, node.id, &membership::Member::replaces);
    const bool replaced = heir != view.nodes.end();
    if (node.role == MemberRole::Voter) {
      staying.voters += there && (!replaced || heir->role == MemberRole::Voter) ? 1 : 0;
    } else if (node.role == MemberRole::Witness) {
      staying.witnesses += (there || node.state == MemberState::Joining) && !replaced ? 1 : 0;
    }
  }
  return staying;
}

}  // namespace

protocol::MemberTolerance tolerance_of(const membership::ClusterView& view,
                                       std::span<const NodeId> live) {
  protocol::MemberTolerance tolerance;
  for (const membership::Member& node : view.nodes) {
    const bool stays = node.state == MemberState::Active || node.state == MemberState::Draining;
    if (!stays || node.role == MemberRole::Observer) {
      continue;
    }
    const bool lives = std::ranges::find(live, node.id) != live.end();
    tolerance.votes += node.weight;
    tolerance.alive += lives ? node.weight : 0;
  }
  tolerance.needed = tolerance.votes / 2 + 1;
  return tolerance;
}

Status check_quorum(const protocol::MemberTolerance& before,
                    const protocol::MemberTolerance& after) {
  if (after.alive >= after.needed || after == before) {
    return {};
  }
  return protocol::make_error(ErrorCode::QuorumWouldBeLost,
                              "of " + std::to_string(after.votes) + " votes " +
                                  std::to_string(after.alive) + " would be alive, and " +
                                  std::to_string(after.needed) + " are needed");
}

bool all_ready(const protocol::MemberMoves& moves, std::uint64_t epoch) {
  return moves.epoch == epoch && moves.shards != 0 && moves.led == moves.shards &&
         moves.ready == moves.shards;
}

bool all_settled(const protocol::MemberMoves& moves, std::uint64_t epoch) {
  return moves.epoch == epoch && moves.shards != 0 && moves.led == moves.shards &&
         moves.settled == moves.shards;
}

NodeId first_lacking(const membership::ClusterView& view,
                     protocol::Feature feature,
                     const std::function<bool(NodeId, protocol::Feature)>& has) {
  for (const NodeId node : nodes_of(view)) {
    if (!has(node, feature)) {
      return node;
    }
  }
  return {};
}

bool has_witness(const membership::ClusterView& view) {
  return count_staying(view).witnesses != 0;
}

Status check_witnesses(const membership::ClusterView& view,
                       const membership::ClusterView& preview,
                       bool force) {
  const Staying before = count_staying(view);
  const Staying staying = count_staying(preview);
  const bool more = staying.witnesses > before.witnesses;
  const bool fewer = staying.voters < before.voters && staying.witnesses != 0 && !force;
  const bool enough = staying.voters >= 2 && staying.voters > staying.witnesses;
  if (enough || !(more || fewer)) {
    return {};
  }
  return protocol::make_error(ErrorCode::WitnessNeedsVoters,
                              "there would be " + std::to_string(staying.witnesses) + " beside " +
                                  std::to_string(staying.voters) + " voters with state");
}

NodeId lacking_members(const membership::ViewCpu& state,
                       const std::function<bool(NodeId, protocol::Feature)>& has) {
  return state.has_steps() ? NodeId{}
                           : first_lacking(state.view(), protocol::Feature::Members, has);
}

bool keeps_nodes(const protocol::MemberActionOrder& order) {
  return order.action == MemberAction::Drain || order.action == MemberAction::Undrain ||
         order.action == MemberAction::MoveLeaders || renews(order);
}

bool renews(const protocol::MemberActionOrder& order) {
  return order.action == MemberAction::Add && order.replaces.value != 0;
}

ViewCommand renewal_of(const protocol::MemberActionOrder& order,
                       std::uint64_t epoch,
                       const protocol::Invitation& invitation) {
  ViewCommand command = command_of(order, epoch, invitation);
  command.kind = ViewCommandKind::Renew;
  command.step.node = std::exchange(command.step.replaces, NodeId{});
  return command;
}

// One that lives would be cut off from whoever knows the view, while it holds what it leads for as
// long as a lease; and nothing is gained by it.
Status check_renewal(const protocol::MemberActionOrder& order, std::span<const NodeId> live) {
  if (order.role != MemberRole::Voter || !order.auto_promote) {
    return protocol::make_error(ErrorCode::MemberRoleWrong,
                                "node " + std::to_string(order.replaces.value));
  }
  const bool lives = std::ranges::find(live, order.replaces) != live.end();
  return lives ? protocol::make_error(
                     ErrorCode::MemberStateWrong,
                     "node " + std::to_string(order.replaces.value) + " lives: stop it first")
               : Status{};
}

ViewCommand command_of(const protocol::MemberActionOrder& order,
                       std::uint64_t epoch,
                       const protocol::Invitation& invitation) {
  ViewCommand command;
  command.kind = kind_of(order.action);
  command.expected = order.expected != 0 ? order.expected : epoch;
  command.step.node = order.node;
  command.step.replaces = order.replaces;
  command.step.weight = order.weight;
  command.step.role = order.role;
  command.step.auto_promote = order.auto_promote;
  command.step.invitation = invitation;
  command.step.name = order.name;
  command.step.labels = order.labels;
  command.step.number = order.number;
  command.step.who = order.who;
  return command;
}

Status check_name(std::string_view name) {
  const bool digits =
      std::ranges::all_of(name, [](char byte) { return byte >= '0' && byte <= '9'; });
  return name.empty() || !digits
             ? Status{}
             : protocol::make_error(ErrorCode::MemberNameInvalid,
                                    std::string(name) + " would be read as an id");
}

Status step_error(ViewCode code, const ViewCommand& command, const membership::ClusterView& view) {
  const auto* const found = std::ranges::find(kStepErrors, code, &CodeError::code);
  if (found == std::end(kStepErrors)) {
    return code == ViewCode::Applied
               ? Status{}
               : protocol::make_error(ErrorCode::PayloadMalformed, "member_change");
  }
  return protocol::make_error(found->error, evidence_of(code, command, view));
}

}  // namespace gcoord::server
