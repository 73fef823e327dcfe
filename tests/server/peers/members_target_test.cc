#include "server/peers/members_target.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

using consensus::MembersTarget;
using consensus::TargetNode;
using protocol::Member;
using protocol::MemberRole;
using protocol::MemberState;

Member member(std::uint32_t id, MemberRole role, MemberState state) {
  return {.id = NodeId{id}, .role = role, .state = state};
}

Member weighing(std::uint32_t weight, Member member) {
  member.weight = weight;
  return member;
}

MembersTargets targets_of(std::vector<Member> nodes) {
  return members_targets({.epoch = 7, .settings = {}, .nodes = std::move(nodes)});
}

MembersTarget target_of(std::vector<Member> nodes) {
  return targets_of(std::move(nodes)).shards;
}

std::uint8_t flags_of(const MembersTarget& target, std::uint32_t node) {
  const Found<TargetNode> found = find_target(target, NodeId{node});
  return found.found() ? found->flags : std::uint8_t{0xff};
}

TEST(MembersTarget, VotersVoteAndOnlyActiveOnesKeepWhatTheyLead) {
  const MembersTarget target =
      target_of({weighing(3, member(1, MemberRole::Voter, MemberState::Active)),
                 weighing(1000, member(2, MemberRole::Voter, MemberState::Draining)),
                 member(3, MemberRole::Witness, MemberState::Active)});
  EXPECT_EQ(target.voter_count, 3u);
  EXPECT_EQ(flags_of(target, 1),
            consensus::kTargetVoter | consensus::kTargetLeads | consensus::kTargetLeadsAtNeed);
  EXPECT_EQ(flags_of(target, 2), consensus::kTargetVoter | consensus::kTargetLeadsAtNeed);
  EXPECT_EQ(flags_of(target, 3), consensus::kTargetVoter | consensus::kTargetWitness);
  EXPECT_EQ(find_target(target, NodeId{1})->weight, 3);
  EXPECT_EQ(find_target(target, NodeId{2})->weight, 255);
}

TEST(MembersTarget, WhoHasComeLearnsAndWhoIsInvitedIsNobody) {
  Member invited = member(4, MemberRole::Voter, MemberState::Joining);
  invited.invitation.emplace();
  const MembersTarget target = target_of({member(1, MemberRole::Voter, MemberState::Active),
                                          member(2, MemberRole::Observer, MemberState::Active),
                                          member(3, MemberRole::Voter, MemberState::Joining),
                                          invited,
                                          member(5, MemberRole::Observer, MemberState::Joining)});
  EXPECT_EQ(target.count, 4u);
  EXPECT_EQ(target.voter_count, 1u);
  EXPECT_EQ(target.joining_count, 2u);
  EXPECT_EQ(flags_of(target, 2), 0);
  EXPECT_EQ(flags_of(target, 3), consensus::kTargetJoining);
  EXPECT_EQ(flags_of(target, 4), 0xff);
  EXPECT_EQ(flags_of(target, 5), consensus::kTargetJoining);
}

TEST(MembersTarget, WhoLeavesOrHasLeftIsNobody) {
  const MembersTarget target = target_of({member(1, MemberRole::Voter, MemberState::Active),
                                          member(2, MemberRole::Voter, MemberState::Leaving),
                                          member(3, MemberRole::Observer, MemberState::Leaving),
                                          member(4, MemberRole::Voter, MemberState::Removed)});
  EXPECT_EQ(target.count, 1u);
}

TEST(MembersTarget, WhoLeavesGoesOnHearingTheViewsUntilItHasLeft) {
  const MembersTargets targets =
      targets_of({member(1, MemberRole::Voter, MemberState::Active),
                  weighing(4, member(2, MemberRole::Voter, MemberState::Leaving)),
                  member(3, MemberRole::Observer, MemberState::Leaving),
                  member(4, MemberRole::Voter, MemberState::Removed)});
  const MembersTarget& views = targets.of(kViewShard);
  EXPECT_EQ(views.count, 3u);
  EXPECT_EQ(views.voter_count, 1u);
  EXPECT_EQ(views.joining_count, 0u);
  EXPECT_EQ(flags_of(views, 2), consensus::kTargetLeaves);
  EXPECT_EQ(find_target(views, NodeId{2})->weight, 0) << "it has no vote any more";
  EXPECT_EQ(flags_of(views, 3), consensus::kTargetLeaves);
  EXPECT_EQ(flags_of(views, 4), 0xff);
  EXPECT_EQ(targets.of(ShardId{1}).count, 1u);
}

TEST(MembersTarget, AViewWithoutVotersWantsNothing) {
  EXPECT_EQ(members_targets({}).shards.count, 0u);
  EXPECT_EQ(members_targets({}).views.count, 0u);
  EXPECT_EQ(target_of({member(1, MemberRole::Observer, MemberState::Active)}).count, 0u);
}

TEST(MembersTarget, OfTooManyNodesVotersComeFirst) {
  std::vector<Member> nodes;
  for (std::uint32_t id = 1; id <= 40; ++id) {
    nodes.push_back(member(id, MemberRole::Observer, MemberState::Active));
  }
  nodes.push_back(member(41, MemberRole::Voter, MemberState::Active));
  const MembersTarget target = target_of(nodes);
  EXPECT_EQ(target.count, consensus::kTargetNodesMax);
  EXPECT_EQ(target.node[0].node, NodeId{41});
}

}  // namespace
}  // namespace gcoord::server
