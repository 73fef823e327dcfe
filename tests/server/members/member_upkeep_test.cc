// What the leader of shard 0 does by itself with nodes that come and go.
#include "tests/server/members/changing_members.h"

namespace gcoord::server {
namespace {

using MembersUpkeepTest = ChangingMembers;

TEST_F(MembersUpkeepTest, OneThatCaughtUpIsPromotedByItselfAfterAWhile) {
  ASSERT_NO_FATAL_FAILURE(found());
  MemberActionOrder wanted = adding();
  wanted.auto_promote = true;
  wanted.replaces = NodeId{3};
  ASSERT_NO_FATAL_FAILURE(grow(wanted));
  settle(kShards, kShards - 1);
  run_ms(5000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  // Half is led elsewhere; an earlier view's counts do not help.
  log_.progress = {.epoch = view().epoch, .led = 4, .settled = 4, .ready = 4};
  hear(2, view().epoch, {.epoch = view().epoch - 1, .led = 4, .settled = 4, .ready = 4});
  run_ms(5000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  hear(2, view().epoch, {.epoch = view().epoch, .led = 4, .settled = 4, .ready = 4});
  run_ms(1000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  // What is not true for long enough is not concluded from.
  log_.progress.ready = 3;
  run_ms(200);
  log_.progress.ready = 4;
  run_ms(2000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  run_ms(1000);
  EXPECT_EQ(node(4).state, MemberState::Active);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  // It has left everywhere once all shards are settled at the view that made it leave.
  run_ms(5000);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  settle(kShards, kShards);
  run_ms(4000);
  EXPECT_EQ(node(3).state, MemberState::Leaving) << "others may still go by an earlier view";
  hear(4, view().epoch, {});
  run_ms(300);  // It is described in its present life.
  for (std::uint32_t id = 2; id <= 4; ++id) {
    hear(id, view().epoch, {});
  }
  settle(kShards, kShards);
  run_ms(4000);
  EXPECT_EQ(node(3).state, MemberState::Removed);
  EXPECT_TRUE(log_.proposals.empty());
}

// Each shard makes voters of both in one change.
TEST_F(MembersUpkeepTest, NodesThatCaughtUpTogetherArePromotedOneRightAfterTheOther) {
  ASSERT_NO_FATAL_FAILURE(found());
  for (int k = 0; k < 2; ++k) {
    MemberActionOrder wanted = adding();
    wanted.auto_promote = true;
    ASSERT_NO_FATAL_FAILURE(grow(wanted));
  }
  settle(kShards, kShards);
  run_ms(3000);
  EXPECT_EQ(node(5).state, MemberState::Active);
}

// Nodes 2 and 3 and a client of theirs may be cut off, and go by view 1: they are its majority.
TEST_F(MembersUpkeepTest, NobodyIsGoneWhileAnEarlierViewMayBeGoneByUnlessSomebodyVouches) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  settle(kShards - 1, kShards);
  MemberActionOrder again = about(MemberAction::Remove, 3);
  EXPECT_EQ(order(again), ErrorCode::MemberStateWrong);
  again.force = true;
  EXPECT_EQ(order(again), ErrorCode::MemberLags) << "a shard has it still";
  settle(kShards, kShards);
  run_ms(600'000);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  again.dry_run = true;
  EXPECT_EQ(order(again), ErrorCode::None);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  again.dry_run = false;
  again.number += 1;
  EXPECT_EQ(order(again), ErrorCode::None);
  EXPECT_EQ(node(3).state, MemberState::Removed);
  const std::uint64_t epoch = view().epoch;
  EXPECT_EQ(order(again), ErrorCode::None) << "its answer was lost";
  EXPECT_EQ(view().epoch, epoch);
}

// Nodes 1 and 2 both hold shard 4 to be theirs, as one of them stands still; nobody leads shard 7,
// which has node 3 still.
TEST_F(MembersUpkeepTest, AShardCountedTwiceDoesNotStandForAnotherOne) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  const auto sum_of = [](std::uint32_t first, std::uint32_t last) {
    std::uint64_t sum = 0;
    for (std::uint32_t shard = first; shard <= last; ++shard) {
      sum += progress_mark(ShardId{shard});
    }
    return sum;
  };
  const std::uint64_t epoch = view().epoch;
  log_.progress = {.epoch = epoch,
                   .led = 5,
                   .settled = 5,
                   .ready = 5,
                   .settled_sum = sum_of(0, 4),
                   .all_sum = sum_of(0, kShards - 1)};
  hear(2, epoch, {.epoch = epoch, .led = 3, .settled = 3, .settled_sum = sum_of(4, 6)});
  run_ms(10'000);
  EXPECT_EQ(node(3).state, MemberState::Leaving);
  MemberActionOrder forced = about(MemberAction::Remove, 3);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::MemberLags);
  hear(2, epoch, {.epoch = epoch, .led = 3, .settled = 3, .settled_sum = sum_of(5, 7)});
  run_ms(10'000);
  EXPECT_EQ(node(3).state, MemberState::Removed);
}

TEST_F(MembersUpkeepTest, MarksDoNotHoldUpWhatMembersWaitFor) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_EQ(order(about(MemberAction::Remove, 3)), ErrorCode::None);
  settle(kShards, kShards);
  bool suspect = false;
  for (int k = 0; k < 6; ++k) {
    members_->propose_suspect(NodeId{2}, suspect = !suspect);
    run_ms(300);
    hear(2, view().epoch, {});
    run_ms(700);
  }
  EXPECT_GT(view().epoch, 6u);
  EXPECT_EQ(node(3).state, MemberState::Removed);
}

TEST_F(MembersUpkeepTest, ViewsThatNobodyLeavesAreNotForgotten) {
  ASSERT_NO_FATAL_FAILURE(found());
  const std::uint64_t first = view().epoch;
  bool suspect = false;
  for (int k = 0; k < 40; ++k) {
    members_->propose_suspect(NodeId{2}, suspect = !suspect);
    run_ms(1000);
  }
  EXPECT_EQ(view().epoch, first + ViewFollowers::kUnleftMax);
  MemberActionOrder wanted = about(MemberAction::Drain, 2);
  EXPECT_EQ(order(wanted), ErrorCode::ViewsNotLeft);
  wanted.number += 1;
  wanted.force = true;
  EXPECT_EQ(order(wanted), ErrorCode::None);
  hear(2, view().epoch, {});
  run_ms(300);
  EXPECT_EQ(order(about(MemberAction::Undrain, 2)), ErrorCode::None);
}

// The directory has a view before others hear of it.
TEST_F(MembersUpkeepTest, AnEpochIsSaidOnceItIsKept) {
  ASSERT_NO_FATAL_FAILURE(found());
  const auto said = [this] {
    return membership::decode_announcement(members_->announcement())->epoch;
  };
  EXPECT_EQ(said(), 1u);
  members_->set_kept_epoch(1);
  ASSERT_EQ(order(about(MemberAction::Drain, 3)), ErrorCode::None);
  run_ms(300);
  EXPECT_EQ(said(), 1u);
  members_->set_kept_epoch(2);
  EXPECT_EQ(said(), 2u);
}

TEST_F(MembersUpkeepTest, NobodyIsPromotedWithoutTheWishOrByAFollower) {
  ASSERT_NO_FATAL_FAILURE(found());
  ASSERT_NO_FATAL_FAILURE(grow());
  settle(kShards, kShards);
  run_ms(6000);
  EXPECT_EQ(node(4).state, MemberState::Joining);
  MemberActionOrder wanted = adding();
  wanted.auto_promote = true;
  ASSERT_NO_FATAL_FAILURE(grow(wanted));
  settle(kShards, kShards);
  log_.leads = false;
  run_ms(6000);
  EXPECT_EQ(node(5).state, MemberState::Joining);
}

TEST_F(MembersUpkeepTest, ASuspectIsMarkedOnceAndUnmarked) {
  ASSERT_NO_FATAL_FAILURE(found());
  members_->propose_suspect(NodeId{3}, true);
  members_->propose_suspect(NodeId{9}, true);
  run_ms(300);
  EXPECT_TRUE(node(3).suspect);
  EXPECT_EQ(node(3).suspect_since_ms, wall_ms_);
  const std::uint64_t epoch = view().epoch;
  members_->propose_suspect(NodeId{3}, true);
  run_ms(300);
  EXPECT_EQ(view().epoch, epoch);
  members_->propose_suspect(NodeId{3}, false);
  run_ms(300);
  EXPECT_FALSE(node(3).suspect);
  log_.leads = false;
  members_->propose_suspect(NodeId{3}, true);
  run_ms(300);
  EXPECT_FALSE(node(3).suspect);
}

TEST_F(MembersUpkeepTest, SuspectsOfOneMomentAreMarkedInOneView) {
  ASSERT_NO_FATAL_FAILURE(found());
  members_->propose_suspect(NodeId{2}, true);
  members_->propose_suspect(NodeId{3}, true);
  run_ms(300);
  EXPECT_EQ(view().epoch, 2u);
  EXPECT_TRUE(node(2).suspect);
  EXPECT_TRUE(node(3).suspect);
  EXPECT_EQ(node(3).suspect_since_ms, wall_ms_);
  // One to be marked, the other no longer.
  members_->propose_suspect(NodeId{1}, true);
  members_->propose_suspect(NodeId{2}, false);
  run_ms(300);
  EXPECT_EQ(view().epoch, 3u);
  EXPECT_TRUE(node(1).suspect);
  EXPECT_FALSE(node(2).suspect);
  // What the view says already is left out.
  members_->propose_suspect(NodeId{1}, true);
  members_->propose_suspect(NodeId{3}, false);
  run_ms(300);
  EXPECT_EQ(view().epoch, 4u);
  EXPECT_FALSE(node(3).suspect);
}

// A follower that cannot read the command would go another way.
TEST_F(MembersUpkeepTest, SuspectsAreMarkedOneByOneWhileANodeIsOfAnEarlierRelease) {
  ASSERT_NO_FATAL_FAILURE(found());
  lacking_marks_ = {2};
  members_->propose_suspect(NodeId{2}, true);
  members_->propose_suspect(NodeId{3}, true);
  run_ms(500);
  EXPECT_EQ(view().epoch, 3u);
  EXPECT_TRUE(node(2).suspect);
  EXPECT_TRUE(node(3).suspect);
}

TEST_F(MembersUpkeepTest, NothingIsProposedWhileANodeIsOfAnEarlierRelease) {
  ASSERT_NO_FATAL_FAILURE(found());
  lacking_ = {3};
  EXPECT_EQ(order(about(MemberAction::Drain, 2)), ErrorCode::MemberFeatureMissing);
  EXPECT_NE(std::string(reinterpret_cast<const char*>(replies_.bytes.data()), replies_.bytes.size())
                .find("node 3"),
            std::string::npos);
  members_->propose_suspect(NodeId{2}, true);
  run_ms(500);
  EXPECT_EQ(view().epoch, 1u);
  // One that is down is not to come back with it.
  MemberActionOrder forced = about(MemberAction::Drain, 2);
  forced.force = true;
  EXPECT_EQ(order(forced), ErrorCode::MemberFeatureMissing);
  log_.set_live(3, false);
  forced.number += 1000;
  EXPECT_EQ(order(forced), ErrorCode::None);
  // Where it was used once, nobody lacks it.
  EXPECT_EQ(order(about(MemberAction::Undrain, 2)), ErrorCode::None);
}

}  // namespace
}  // namespace gcoord::server
