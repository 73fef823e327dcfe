#include "server/peers/members_target.h"

#include <algorithm>
#include <optional>

namespace gcoord::server {
namespace {

using consensus::TargetNode;
using protocol::Member;
using protocol::MemberRole;
using protocol::MemberState;

// Weights of a configuration have eight bits.
constexpr std::uint32_t kWeightMax = 255;

std::uint8_t voter_flags(const Member& member) {
  if (member.role == MemberRole::Witness) {
    return consensus::kTargetVoter | consensus::kTargetWitness;
  }
  const bool leads = member.state == MemberState::Active;
  return static_cast<std::uint8_t>(consensus::kTargetVoter | consensus::kTargetLeadsAtNeed |
                                   (leads ? consensus::kTargetLeads : 0));
}

// Nothing for a node that is to be no member.
std::optional<TargetNode> target_of(const Member& member) {
  TargetNode node{.node = member.id};
  const bool present = member.state == MemberState::Active || member.state == MemberState::Draining;
  if (present && member.role != MemberRole::Observer) {
    node.weight = static_cast<std::uint8_t>(std::clamp(member.weight, 1u, kWeightMax));
    node.flags = voter_flags(member);
    return node;
  }
  const bool joins = member.state == MemberState::Joining && !member.invitation;
  if (!present && !joins) {
    return std::nullopt;
  }
  node.weight = 0;
  const bool witness = member.role == MemberRole::Witness;
  node.flags = static_cast<std::uint8_t>((joins ? consensus::kTargetJoining : 0) |
                                         (witness ? consensus::kTargetWitness : 0));
  return node;
}

}  // namespace

MembersTargets members_targets(const protocol::ClusterView& view) {
  consensus::MembersTarget target;
  for (const bool voters : {true, false}) {
    for (const Member& member : view.nodes) {
      const std::optional<TargetNode> node = target_of(member);
      if (node && ((node->flags & consensus::kTargetVoter) != 0) == voters) {
        add_target(target, *node);
      }
    }
    if (target.voter_count == 0) {
      return {};
    }
  }
  MembersTargets targets{.shards = target, .views = target};
  for (const Member& member : view.nodes) {
    if (member.state == MemberState::Leaving) {
      const bool witness = member.role == MemberRole::Witness;
      const std::uint8_t kind = witness ? consensus::kTargetWitness : std::uint8_t{0};
      add_target(targets.views,
                 {.node = member.id,
                  .weight = 0,
                  .flags = static_cast<std::uint8_t>(kind | consensus::kTargetLeaves)});
    }
  }
  return targets;
}

}  // namespace gcoord::server
