// Nodes that come and go, as the leader of shard 0 takes and proposes it.
#include "server/members/member_changes.h"

#include "tests/server/members/changing_members.h"

namespace gcoord::server {
namespace {

using MemberChangesTest = ChangingMembers;

TEST_F(MemberChangesTest, WhoeverListensLearnsOfTheFixedListAndOfEachView) {
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].view.epoch, 0u);
  ASSERT_EQ(told_[0].view.nodes.size(), 3u);
  EXPECT_EQ(told_[0].view.nodes[2].peer_address, "three:1");
  EXPECT_EQ(voters_of(told_[0].view).size(), 3u);
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[1].view, view());
  ASSERT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::None);
  pass();
  EXPECT_EQ(told_.back().view, view());
  EXPECT_EQ(members_->members().view.epoch, 2u);
}

TEST_F(MemberChangesTest, ANodeIsAddedWithATokenAndJoins) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding();
  wanted.labels = {{"zone", "b"}};
  ASSERT_EQ(order(wanted), ErrorCode::None);
  const protocol::MemberActionAnswer added = answer();
  EXPECT_EQ(added.node, NodeId{4});
  ASSERT_TRUE(added.token.has_value());
  EXPECT_EQ(added.deadline_ms, wall_ms_ + 60'000);
  EXPECT_EQ(added.view.epoch, 2u);
  EXPECT_EQ(node(4).invitation->token_hash, protocol::join_token_hash(*added.token));
  // The first answer was lost: the same again, and the log has one entry.
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().token, added.token);
  EXPECT_EQ(view().epoch, 2u);
  protocol::JoinToken wrong = *added.token;
  wrong[3] ^= std::byte{1};
  EXPECT_EQ(join(joining(wrong, 50)), ErrorCode::JoinTokenUnknown);
  ASSERT_EQ(join(joining(*added.token, 50)), ErrorCode::None);
  const auto joined = protocol::decode_join_answer(replies_.bytes);
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined.value().node, NodeId{4});
  EXPECT_EQ(joined.value().cluster, ClusterId{77});
  EXPECT_EQ(joined.value().view, view());
  EXPECT_EQ(node(4).peer_address, "j50:1");
  const std::uint64_t epoch = view().epoch;
  ASSERT_EQ(join(joining(*added.token, 50)), ErrorCode::None);  // Its answer was lost.
  EXPECT_EQ(view().epoch, epoch);
  EXPECT_EQ(join(joining(*added.token, 51)), ErrorCode::JoinTokenSpent);
  EXPECT_EQ(join(joining(wrong, 50)), ErrorCode::JoinTokenSpent);  // The directory is no secret.
}

// With a token found in a script, and a directory's id from the view, anybody had the secret.
TEST_F(MemberChangesTest, ATokenThatHasDoneItsWorkTellsNobodyTheSecret) {
  ASSERT_NO_FATAL_FAILURE(found());
  members_->set_seal_secret(
      [](const protocol::JoinToken&, NodeId) { return std::vector<std::byte>(40, std::byte{7}); });
  ASSERT_EQ(order(adding()), ErrorCode::None);
  const protocol::JoinToken token = *answer().token;
  ASSERT_EQ(join(joining(token, 104)), ErrorCode::None);
  EXPECT_EQ(protocol::decode_join_answer(replies_.bytes).value().sealed_secret.size(), 40u);
  log_.set_live(4, true);
  settle(kShards, kShards);
  ASSERT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::None);
  ASSERT_EQ(node(4).state, MemberState::Active);
  EXPECT_EQ(join(joining(token, 104)), ErrorCode::JoinTokenSpent);
}

// A node that listens everywhere says no address: it stays where the view has it.
TEST_F(MemberChangesTest, ANodeThatSaysNoAddressStaysWhereItIs) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_NO_FATAL_FAILURE(grow());
  ASSERT_EQ(node(4).peer_address, "j104:1");
  const std::uint64_t epoch = view().epoch;
  membership::ViewAnnouncement said;
  said.epoch = epoch;
  said.settings.shards = kShards;
  said.self.id = NodeId{4};
  said.self.name = "node-4";
  members_->hear(NodeId{4}, Incarnation{1}, membership::encode_announcement(said));
  run_ms(500);
  EXPECT_GT(view().epoch, epoch);
  EXPECT_EQ(node(4).peer_address, "j104:1");
  EXPECT_EQ(node(4).client_address, "j104:2");
}

// Whatever becomes of a record: whoever reads a log or a backup does not join with what is in it.
TEST_F(MemberChangesTest, TheLogNeverHasTheToken) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding()), ErrorCode::None);
  const protocol::JoinToken token = *answer().token;
  EXPECT_TRUE(std::ranges::search(log_.written, protocol::join_token_proof(token)).empty());
  ASSERT_EQ(join(joining(token, 50)), ErrorCode::None);
  EXPECT_TRUE(std::ranges::search(log_.written, token).empty());
  EXPECT_FALSE(std::ranges::search(log_.written, protocol::join_token_proof(token)).empty());
  EXPECT_NE(protocol::join_token_proof(token), protocol::join_token_hash(token));
}

TEST_F(MemberChangesTest, WhatIsNotDoneDrawsNoToken) {
  ASSERT_NO_FATAL_FAILURE(found());
  const MemberActionOrder wanted = adding();
  ASSERT_EQ(order(wanted), ErrorCode::None);
  const protocol::JoinToken token = *answer().token;
  for (int k = 0; k < 100; ++k) {
    MemberActionOrder other = adding();
    other.dry_run = k % 2 == 0;
    other.weight = other.dry_run ? 1 : 0;
    EXPECT_EQ(order(other), other.dry_run ? ErrorCode::None : ErrorCode::MemberWeightInvalid);
  }
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().token, token);
}

// Verbs take a number for an id.
TEST_F(MemberChangesTest, ANumberIsNoName) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding();
  wanted.name = "17";
  EXPECT_EQ(order(wanted), ErrorCode::MemberNameInvalid);
  ASSERT_EQ(order(adding()), ErrorCode::None);
  protocol::JoinRequest request = joining(*answer().token, 50);
  request.name = "2";
  EXPECT_EQ(join(request), ErrorCode::MemberNameInvalid);
  request.name = "2b";
  EXPECT_EQ(join(request), ErrorCode::None);
}

TEST_F(MemberChangesTest, AChangeForAnotherViewIsAnsweredWithTheNewest) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = about(MemberAction::Drain, 2);
  wanted.expected = 9;
  EXPECT_EQ(order(wanted), ErrorCode::ViewStale);
  EXPECT_NE(text().find("the view is 1, the change is for 9"), std::string::npos) << text();
}

TEST_F(MemberChangesTest, ADryRunSaysWhatWouldMove) {
  ASSERT_NO_FATAL_FAILURE(found());
  settle(kShards, kShards);
  log_.node.leader_count = 5;
  const auto tried = [this](MemberAction action, std::uint32_t id) {
    MemberActionOrder wanted = about(action, id);
    wanted.dry_run = true;
    EXPECT_EQ(order(wanted), ErrorCode::None);
    return answer();
  };
  const auto drained = tried(MemberAction::Drain, 1);
  EXPECT_EQ(drained.moves.settled, kShards) << "who leads is no matter of configurations";
  EXPECT_EQ(drained.handed_over, 5u);
  const auto removed = tried(MemberAction::Remove, 1);
  EXPECT_EQ(removed.moves.settled, 0u);
  EXPECT_EQ(removed.handed_over, 5u);
  MemberActionOrder wanted = adding();
  wanted.dry_run = true;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().moves.settled, kShards) << "nobody has come yet";
  EXPECT_EQ(view().epoch, 1u);
}

TEST_F(MemberChangesTest, AJoinThatIsLateOrOldOrInTheWayIsRefused) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding()), ErrorCode::None);
  protocol::JoinToken token = *answer().token;
  protocol::JoinRequest request = joining(token, 50);
  request.features &= ~static_cast<std::uint64_t>(protocol::Feature::Members);
  EXPECT_EQ(join(request), ErrorCode::JoinFeaturesMissing);
  request.features = static_cast<std::uint64_t>(protocol::Feature::Members);
  EXPECT_EQ(join(request), ErrorCode::JoinFeaturesMissing);
  request.features = protocol::kFeatures;
  request.peer_address = "two:1";
  EXPECT_EQ(join(request), ErrorCode::None);  // Node 2 said n2:1.
  ASSERT_EQ(order(adding()), ErrorCode::None);
  token = *answer().token;
  request = joining(token, 60);
  request.peer_address = "n2:1";
  EXPECT_EQ(join(request), ErrorCode::MemberAddressTaken);
  EXPECT_NE(text().find("n2:1 is node 2's, \"node-2\""), std::string::npos) << text();
  request = joining(token, 50);
  request.client_address = "elsewhere:2";
  EXPECT_EQ(join(request), ErrorCode::MemberDirectoryTaken);
  request = joining(token, 60);
  wall_ms_ += 60'001;
  EXPECT_EQ(join(request), ErrorCode::JoinTokenLate);
  ASSERT_EQ(order(about(MemberAction::Remove, 5)), ErrorCode::None);
  EXPECT_EQ(node(5).state, MemberState::Removed);
  EXPECT_EQ(join(request), ErrorCode::JoinTokenUnknown);
  EXPECT_EQ(send(RequestKind::MemberJoin, {}), ErrorCode::PayloadMalformed);
}

TEST_F(MemberChangesTest, EachMistakeOfAnOrderHasItsOwnCodeAndChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding(MemberRole::Witness);
  wanted.weight = 2;
  EXPECT_EQ(order(wanted), ErrorCode::MemberWeightInvalid);
  wanted = adding();
  wanted.weight = 0;
  EXPECT_EQ(order(wanted), ErrorCode::MemberWeightInvalid);
  wanted = adding();
  wanted.name = "node-2";
  EXPECT_EQ(order(wanted), ErrorCode::MemberNameInvalid);
  wanted.name = "node-4";
  wanted.replaces = NodeId{9};
  EXPECT_EQ(order(wanted), ErrorCode::MemberUnknown);
  wanted = about(MemberAction::Drain, 9);
  EXPECT_EQ(order(wanted), ErrorCode::MemberUnknown);
  wanted = about(MemberAction::Drain, 2);
  wanted.expected = 9;
  EXPECT_EQ(order(wanted), ErrorCode::ViewStale);
  wanted = about(MemberAction::Promote, 2);
  EXPECT_EQ(order(wanted), ErrorCode::MemberStateWrong);
  wanted = about(MemberAction::Reweigh, 2);
  wanted.weight = 300;
  EXPECT_EQ(order(wanted), ErrorCode::MemberWeightInvalid);
  EXPECT_EQ(send(RequestKind::MemberChange, std::vector<std::byte>(7)),
            ErrorCode::PayloadMalformed);
  wanted = about(MemberAction::Drain, 2);
  wanted.who = "a\nb";
  EXPECT_EQ(order(wanted), ErrorCode::SlotInvalid);
  EXPECT_EQ(view().epoch, 1u);
  EXPECT_TRUE(log_.proposals.empty());
}

// Those that can lead stay a majority by themselves.
TEST_F(MemberChangesTest, AWitnessTakesMoreVotersWithStateThanThereAreWitnesses) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding(MemberRole::Witness)), ErrorCode::None);
  EXPECT_EQ(node(4).role, MemberRole::Witness);
  EXPECT_EQ(node(4).weight, 1u);
  MemberActionOrder more = adding(MemberRole::Witness);
  ASSERT_EQ(order(more), ErrorCode::None);
  more = adding(MemberRole::Witness);
  more.force = true;
  EXPECT_EQ(order(more), ErrorCode::WitnessNeedsVoters) << "three voters, three witnesses";
  EXPECT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::WitnessNeedsVoters);
  ASSERT_EQ(order(about(MemberAction::Remove, 5)), ErrorCode::None) << "a witness may go";
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None) << "two voters, one witness";
  EXPECT_EQ(order(adding(MemberRole::Witness)), ErrorCode::WitnessNeedsVoters);
  MemberActionOrder other = adding(MemberRole::Witness);
  other.replaces = NodeId{2};
  EXPECT_EQ(order(other), ErrorCode::WitnessNeedsVoters) << "a witness in place of a voter";
  MemberActionOrder heir = adding();
  heir.replaces = NodeId{2};
  heir.dry_run = true;
  EXPECT_EQ(order(heir), ErrorCode::None) << "a voter in place of a voter";
  MemberActionOrder forced = about(MemberAction::Remove, 2);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::None);
  MemberActionOrder last = about(MemberAction::Remove, 1);
  last.force = true;
  EXPECT_EQ(order(last), ErrorCode::LastVoter) << "a witness cannot lead";
}

TEST_F(MemberChangesTest, AWitnessComesOnlyWhereAllNodesKnowWitnesses) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(adding()), ErrorCode::None);  // So changes are known everywhere.
  lacking_.insert(3);
  ASSERT_EQ(order(adding()), ErrorCode::None);
  EXPECT_EQ(order(adding(MemberRole::Witness)), ErrorCode::MemberFeatureMissing);
  lacking_.clear();
  ASSERT_EQ(order(adding(MemberRole::Witness)), ErrorCode::None);
  // Now nobody may come who knows of none, whatever is known of those that are there.
  protocol::JoinRequest request = joining(*answer().token, 40);
  request.features &= ~static_cast<std::uint64_t>(protocol::Feature::Witnesses);
  lacking_.insert(3);
  EXPECT_EQ(join(request), ErrorCode::JoinFeaturesMissing);
}

TEST_F(MemberChangesTest, AQuorumOfLiveNodesStaysUnlessItIsForced) {
  ASSERT_NO_FATAL_FAILURE(found());
  log_.set_live(3, false);
  MemberActionOrder wanted = about(MemberAction::Remove, 2);
  EXPECT_EQ(order(wanted), ErrorCode::QuorumWouldBeLost);
  EXPECT_NE(std::string(reinterpret_cast<const char*>(replies_.bytes.data()), replies_.bytes.size())
                .find("of 2 votes 1 would be alive, and 2 are needed"),
            std::string::npos);
  wanted = about(MemberAction::Remove, 2);
  wanted.dry_run = true;
  wanted.force = true;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(answer().before, (protocol::MemberTolerance{.votes = 3, .alive = 2, .needed = 2}));
  EXPECT_EQ(answer().after, (protocol::MemberTolerance{.votes = 2, .alive = 1, .needed = 2}));
  EXPECT_EQ(view().epoch, 1u);
  // The dead one may go.
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  wanted.dry_run = false;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  wanted = about(MemberAction::Remove, 1);
  wanted.force = true;
  EXPECT_EQ(order(wanted), ErrorCode::LastVoter);
}

TEST_F(MemberChangesTest, OneThatLagsIsNotPromotedUnlessItIsForced) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_NO_FATAL_FAILURE(grow());
  settle(kShards, kShards - 1);
  EXPECT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::MemberLags);
  settle(kShards, kShards);
  log_.progress.epoch -= 1;  // Counts for an earlier view say nothing.
  EXPECT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::MemberLags);
  settle(kShards, kShards);
  log_.set_live(4, false);
  EXPECT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::MemberLags);
  log_.set_live(4, true);
  ASSERT_EQ(order(about(MemberAction::Promote, 4)), ErrorCode::None);
  EXPECT_EQ(node(4).state, MemberState::Active);
  EXPECT_EQ(answer().after.votes, 4u);
  ASSERT_NO_FATAL_FAILURE(grow());
  MemberActionOrder forced = about(MemberAction::Promote, 5);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::None);
}

TEST_F(MemberChangesTest, AChangeForAnyViewIsMadeAnewWhenAnotherWasFaster) {
  ASSERT_NO_FATAL_FAILURE(found());
  const MemberActionOrder first = about(MemberAction::Drain, 2);
  const MemberActionOrder second = about(MemberAction::Drain, 3);
  MemberActionOrder third = about(MemberAction::Reweigh, 3);
  third.weight = 2;
  third.expected = 1;
  const int before = replies_.count;
  for (const MemberActionOrder& each : {first, second, third}) {
    send(RequestKind::MemberChange, protocol::encode_member_action(each));
  }
  decide();
  decide();
  EXPECT_EQ(replies_.count, before + 3);
  EXPECT_EQ(node(2).state, MemberState::Draining);
  EXPECT_EQ(node(3).state, MemberState::Draining);
  EXPECT_EQ(node(3).weight, 1u);  // That one was for view 1 only.
  EXPECT_EQ(view().epoch, 3u);
}

TEST_F(MemberChangesTest, FollowersNameTheLeader) {
  ASSERT_NO_FATAL_FAILURE(found());
  log_.leads = false;
  EXPECT_EQ(send(RequestKind::MemberChange,
                 protocol::encode_member_action(about(MemberAction::Drain, 2))),
            ErrorCode::NotLeader);
  EXPECT_EQ(send(RequestKind::MemberJoin, protocol::encode_join_request(joining({}, 5))),
            ErrorCode::NotLeader);
  EXPECT_EQ(send(RequestKind::MemberProgress, {}), ErrorCode::NotLeader);
}

TEST_F(MemberChangesTest, WhereThereIsNoViewNothingChanges) {
  EXPECT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::ViewAbsent);
  EXPECT_EQ(join(joining({}, 5)), ErrorCode::ViewAbsent);
}

TEST_F(MemberChangesTest, AChangeThatTheLogLostSaysSo) {
  ASSERT_NO_FATAL_FAILURE(found());
  send(RequestKind::MemberChange, protocol::encode_member_action(about(MemberAction::Drain, 2)));
  ASSERT_EQ(log_.proposals.size(), 1u);
  machine_.on_proposal_failed(
      log_.proposals.front().cookie, Status{StatusCode::Unavailable, "lost"}, NodeId{2});
  EXPECT_NE(replies_.last.code, StatusCode::Ok);
  EXPECT_EQ(view().epoch, 1u);
}

TEST_F(MemberChangesTest, LeadershipsGoToLiveActiveVotersOnce) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::None);
  MemberActionOrder wanted = about(MemberAction::MoveLeaders, 1);
  wanted.dry_run = true;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_TRUE(log_.transfers.empty());
  wanted.dry_run = false;
  ASSERT_EQ(order(wanted), ErrorCode::None);
  EXPECT_EQ(replies_.parked, 0);
  EXPECT_EQ(answer().handed_over, kShards);
  ASSERT_EQ(log_.transfers.size(), kShards);
  for (const auto& [shard, to] : log_.transfers) {
    EXPECT_EQ(to, NodeId{3}) << "2 is draining";
  }
  EXPECT_EQ(order(about(MemberAction::MoveLeaders, 2)), ErrorCode::SlotInvalid);
}

TEST_F(MemberChangesTest, ProgressIsOfTheNewestViewAndOfNodesThatLive) {
  ASSERT_NO_FATAL_FAILURE(found());
  log_.progress = {.epoch = 1, .led = 4, .settled = 3, .ready = 2};
  hear(2, 1, {.epoch = 1, .led = 3, .settled = 2, .ready = 1});
  hear(3, 1, {.epoch = 1, .led = 1, .settled = 1, .ready = 1});
  EXPECT_EQ(send(RequestKind::MemberProgress, {}), ErrorCode::None);
  EXPECT_EQ(
      protocol::decode_member_moves(replies_.bytes).value(),
      (protocol::MemberMoves{.epoch = 1, .shards = kShards, .led = 8, .settled = 6, .ready = 4}));
  log_.set_live(3, false);
  send(RequestKind::MemberProgress, {});
  EXPECT_EQ(protocol::decode_member_moves(replies_.bytes).value().led, 7u);
}

TEST_F(MemberChangesTest, ClientsOfEarlierReleasesReadTheViewAsTheyKnowIt) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  EXPECT_EQ(send(RequestKind::ViewGet, protocol::encode_view_query({})), ErrorCode::None);
  EXPECT_EQ(protocol::decode_view_answer(replies_.bytes).value().view.nodes[2].state,
            MemberState::Leaving);
  send(RequestKind::ViewGet, protocol::encode_view_query({.members = false}));
  EXPECT_EQ(protocol::decode_view_answer(replies_.bytes).value().view.nodes[2].state,
            MemberState::Draining);
}

TEST_F(MemberChangesTest, AnnouncementsCarryTheProgressOfTheNode) {
  ASSERT_NO_FATAL_FAILURE(found());
  EXPECT_FALSE(membership::decode_announcement(members_->announcement())->progress.has_value());
  log_.progress = {.epoch = 1, .led = 4, .settled = 3, .ready = 2};
  EXPECT_EQ(membership::decode_announcement(members_->announcement())->progress,
            (membership::ShardProgress{
                .epoch = 1, .led = 4, .settled = 3, .ready = 2, .settled_sum = 0}));
}

}  // namespace
}  // namespace gcoord::server
