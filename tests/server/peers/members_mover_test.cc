#include "server/peers/members_mover.h"

#include "common/tables/column_arena.h"
#include "consensus/step/recover.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using consensus::Configuration;
using consensus::MembersTarget;
using consensus::Role;
using consensus::ShardRef;
using consensus::SlotMask;

constexpr std::uint32_t kRows = 6;
constexpr LogIndex kLast{10};
// Parts of a node of which each has two rows under way.
constexpr std::uint32_t kManyParts = MembersMover::kUnderWayMax / 2;
constexpr std::uint8_t kVoter =
    consensus::kTargetVoter | consensus::kTargetLeads | consensus::kTargetLeadsAtNeed;

MembersTarget voters(const std::vector<std::uint32_t>& nodes) {
  MembersTarget target;
  for (const std::uint32_t node : nodes) {
    add_target(target, {.node = NodeId{node}, .flags = kVoter});
  }
  return target;
}

MembersTargets for_all(const MembersTarget& target) {
  return {.shards = target, .views = target};
}

// Without the sums.
MembersProgress counts_of(const MembersMover& mover) {
  MembersProgress counts = mover.progress();
  counts.settled_sum = counts.all_sum = 0;
  return counts;
}

// Rows of node 1, which leads all of them at first; nodes 2 to 5 live and have all logs.
class MembersMoverTest : public ::testing::Test {
 protected:
  MembersMoverTest() {
    for (std::uint32_t node = 2; node <= 5; ++node) {
      peers_.push_back({.node = NodeId{node}, .incarnation = Incarnation{1}, .session = 3});
      peers_.back().live = 1;
    }
    input_.self = NodeId{1};
    input_.peer = peers_.data();
    input_.peer_count = 4;
    Configuration configuration;
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      configuration.node[slot] = NodeId{slot + 1};
      configuration.weight[slot] = 1;
      configuration.voters =
          static_cast<SlotMask>(configuration.voters | consensus::slot_bit(slot));
    }
    for (std::uint32_t row = 0; row < kRows; ++row) {
      recover(ref(row),
              {.term = Term{1},
               .floor = kLast,
               .floor_term = Term{1},
               .commit = kLast,
               .configuration = configuration},
              NodeId{1});
      columns_.hot[row].role = Role::Leader;
      columns_.log[row].configuration_pending = kLast;
      catch_up(row);
    }
  }

  ShardRef ref(std::uint32_t row) { return {columns_, row}; }

  void catch_up(std::uint32_t row) {
    for (std::uint32_t slot = 0; slot < consensus::kReplicaSlots; ++slot) {
      ref(row).progress(slot).acked_session = 3;
      ref(row).progress(slot).match = kLast;
      ref(row).progress(slot).flags = consensus::kProgressKnowsCommit;
    }
  }

  // What the rows were given to propose, decided by the next tick.
  std::uint32_t decide_all(MembersMover& mover) {
    std::uint32_t proposals = 0;
    input_.tick = input_.tick + 1;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      RowWork* work = rows_.find(row);
      if (work == nullptr || !work->proposed) {
        continue;
      }
      ++proposals;
      const Configuration next = *work->proposed;
      columns_.configuration[row] = next.joint() ? leave_joint(next) : next;
      work->proposed.reset();
      catch_up(row);
      mover.note(row);
    }
    return proposals;
  }

  std::uint64_t changes(const std::string& step) {
    return registry_
        .counter({.name = "gcoord_server_members_changes_total",
                  .help = "",
                  .label_key = "step",
                  .label_value = step})
        .value();
  }

  ColumnArena arena_{consensus::shard_columns_bytes(kRows, consensus::kReplicaSlots)};
  consensus::ShardColumns columns_ =
      consensus::carve_shard_columns(arena_, kRows, consensus::kReplicaSlots);
  MetricsRegistry registry_;
  ActiveRows rows_{kRows};
  std::vector<consensus::PeerLiveness> peers_;
  consensus::StepInput input_;
};

TEST_F(MembersMoverTest, MovesAllRowsAndThenRests) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.set_targets(for_all(voters({1, 2, 3, 4})), 5);
  EXPECT_EQ(counts_of(mover), (MembersProgress{.epoch = 5, .led = kRows, .ready = kRows}));
  ASSERT_TRUE(mover.waiting());
  mover.advance(input_, rows_);
  EXPECT_EQ(decide_all(mover), kRows);
  EXPECT_EQ(changes("learners"), kRows);
  mover.advance(input_, rows_);
  EXPECT_EQ(decide_all(mover), kRows);
  EXPECT_EQ(changes("voters"), kRows);
  EXPECT_EQ(mover.progress().settled, kRows);
  EXPECT_EQ(mover.progress().settled_sum, mover.progress().all_sum);
  EXPECT_FALSE(mover.waiting());
  mover.note(2);
  EXPECT_FALSE(mover.waiting()) << "a row that is as wanted is not looked at again";
}

TEST_F(MembersMoverTest, SoManyRowsAreUnderWayAtOnce) {
  MembersMover mover({.self = NodeId{1}, .parts = kManyParts}, columns_, registry_);
  mover.set_targets(for_all(voters({1, 2, 3, 4})), 1);
  std::uint32_t rounds = 0;
  while (mover.progress().settled < kRows && rounds < 100) {
    mover.advance(input_, rows_);
    EXPECT_LE(decide_all(mover), 2u);
    ++rounds;
  }
  // Two changes for each row, two rows at a time, and two rests of three ticks.
  EXPECT_EQ(rounds, 2 * kRows);
}

TEST_F(MembersMoverTest, RowsThatWaitForTheDeadHoldNoPlace) {
  peers_[2].live = 0;
  MembersMover mover({.self = NodeId{1}, .parts = kManyParts}, columns_, registry_);
  mover.set_targets(for_all(voters({1, 2, 3, 4})), 1);
  for (std::uint32_t round = 0; round < 4 * kRows; ++round) {
    mover.advance(input_, rows_);
    decide_all(mover);
  }
  mover.advance(input_, rows_);
  EXPECT_EQ(changes("learners"), kRows);
  EXPECT_FALSE(mover.waiting());
  peers_[2].live = 1;
  mover.note(3);  // The return of a node steps every row.
  mover.advance(input_, rows_);
  EXPECT_EQ(decide_all(mover), 1u);
}

TEST_F(MembersMoverTest, CountsTheRowsWhereJoiningNodesHaveTheLog) {
  MembersTarget target = voters({1, 2, 3});
  add_target(target, {.node = NodeId{4}, .weight = 0, .flags = consensus::kTargetJoining});
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.set_targets(for_all(target), 2);
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, 0u);
  decide_all(mover);
  EXPECT_EQ(mover.progress().settled, kRows);
  ref(1).progress(3).match = LogIndex{1};
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, kRows - 1);
  ref(1).progress(3).match = kLast;
  mover.note(1);
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, kRows);
}

// The leader alone knows that the change is decided: when it dies, the others need who leaves.
TEST_F(MembersMoverTest, ARowIsSettledOnceAMajorityKnowsOfIt) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.set_targets(for_all(voters({1, 2, 3})), 5);
  EXPECT_EQ(mover.progress().settled, kRows);
  mover.set_targets(for_all(voters({1, 2})), 6);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    consensus::drop_voter(columns_.configuration[row], 2);
    ref(row).progress(1).flags = 0;
    mover.note(row);
  }
  EXPECT_EQ(mover.progress().settled, 0u);
  ref(0).progress(1).flags = consensus::kProgressKnowsCommit;
  mover.note(0);
  EXPECT_EQ(mover.progress().settled, 1u);
  ref(0).progress(1).flags = 0;  // The commit index went on.
  mover.note(0);
  EXPECT_EQ(mover.progress().settled, 1u);
}

TEST_F(MembersMoverTest, HandsOverWhatALeavingNodeLeads) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.set_targets(for_all(voters({2, 3})), 9);
  mover.advance(input_, rows_);
  EXPECT_EQ(changes("transfer"), kRows);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    const RowWork* work = rows_.find(row);
    ASSERT_NE(work, nullptr);
    EXPECT_TRUE(work->transfer_to == NodeId{2} || work->transfer_to == NodeId{3});
    columns_.hot[row].role = Role::Follower;
    mover.note(row);
  }
  EXPECT_EQ(counts_of(mover), (MembersProgress{.epoch = 9}));
  EXPECT_FALSE(mover.waiting());
}

TEST_F(MembersMoverTest, KnowsWhoKeepsWhatIsHandedToIt) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  EXPECT_TRUE(mover.keeps_leaderships(NodeId{2}));
  MembersTarget target = voters({1, 3});
  add_target(target,
             {.node = NodeId{2}, .flags = consensus::kTargetVoter | consensus::kTargetLeadsAtNeed});
  mover.set_targets(for_all(target), 2);
  EXPECT_TRUE(mover.keeps_leaderships(NodeId{3}));
  EXPECT_FALSE(mover.keeps_leaderships(NodeId{2}));
  EXPECT_FALSE(mover.keeps_leaderships(NodeId{4}));
}

TEST_F(MembersMoverTest, LeavesAloneWhatReadmissionProposed) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  Configuration other = columns_.configuration[4];
  other.learners = 0;
  rows_.touch(4).proposed = std::make_unique<Configuration>(other);
  mover.set_targets(for_all(voters({1, 2, 3, 4})), 1);
  mover.advance(input_, rows_);
  EXPECT_EQ(rows_.find(4)->proposed->learners, 0);
  EXPECT_EQ(rows_.find(3)->proposed->learners, consensus::slot_bit(3));
}

TEST_F(MembersMoverTest, WithoutATargetNothingIsLookedAt) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.note(0);
  EXPECT_FALSE(mover.waiting());
  mover.set_targets(for_all(voters({1, 2, 3, 4})), 3);
  mover.set_targets(for_all({}), 0);
  mover.advance(input_, rows_);
  EXPECT_EQ(decide_all(mover), 0u);
  EXPECT_EQ(counts_of(mover), MembersProgress{});
}

TEST_F(MembersMoverTest, AJoinerThatDiesHoldsUpNobody) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  MembersTarget target = voters({1, 2, 3});
  for (const std::uint32_t node : {4u, 5u}) {
    add_target(target, {.node = NodeId{node}, .weight = 0, .flags = consensus::kTargetJoining});
  }
  mover.set_targets(for_all(target), 2);
  mover.advance(input_, rows_);
  decide_all(mover);
  for (std::uint32_t row = 0; row < kRows; ++row) {
    ref(row).progress(4).match = LogIndex{};
    mover.note(row);
  }
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, 0u) << "node 5 is far behind";
  peers_[3].live = 0;
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, kRows);
  peers_[3].live = 1;
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, 0u);
}

TEST_F(MembersMoverTest, AJoinerThatHasNotComeIsWaitedForAWhile) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  MembersTarget target = voters({1, 2, 3});
  add_target(target, {.node = NodeId{9}, .weight = 0, .flags = consensus::kTargetJoining});
  mover.set_targets(for_all(target), 2);
  EXPECT_EQ(mover.progress().ready, 0u);
  input_.tick = Tick{1};
  mover.advance(input_, rows_);
  decide_all(mover);
  input_.tick = Tick{std::uint64_t{10} * input_.timing.election_ticks};
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, 0u);
  input_.tick = input_.tick + 1;
  mover.advance(input_, rows_);
  EXPECT_EQ(mover.progress().ready, kRows) << "it may never come";
}

TEST_F(MembersMoverTest, TheSameTargetUnderAnotherEpochLeavesWhatWasFound) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.set_targets(for_all(voters({1, 2, 3})), 1);
  mover.set_targets(for_all(voters({1, 2, 3})), 2);
  EXPECT_FALSE(mover.waiting());
  EXPECT_EQ(counts_of(mover),
            (MembersProgress{.epoch = 2, .led = kRows, .settled = kRows, .ready = kRows}));
}

// Rows are those of shards 0 to kRows - 1.
TEST_F(MembersMoverTest, WhoLeavesStaysALearnerOfTheViewsAlone) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  MembersTargets targets = for_all(voters({1, 2}));
  add_target(targets.views, {.node = NodeId{3}, .weight = 0});
  mover.set_targets(targets, 2);
  for (int turn = 0; turn < 4 && mover.waiting(); ++turn) {
    mover.advance(input_, rows_);
    decide_all(mover);
  }
  EXPECT_EQ(mover.progress().settled, kRows);
  const auto views = ref(0).configuration();
  const std::uint8_t slot = consensus::slot_of(views, NodeId{3});
  ASSERT_NE(slot, consensus::kSlotNone);
  EXPECT_EQ(views.learners, consensus::slot_bit(slot));
  EXPECT_EQ(views.weight[slot], 0);
  EXPECT_EQ(consensus::slot_of(ref(1).configuration(), NodeId{3}), consensus::kSlotNone);

  mover.set_targets(for_all(voters({1, 2})), 3);
  mover.advance(input_, rows_);
  EXPECT_EQ(decide_all(mover), 1u) << "it has left";
  EXPECT_EQ(ref(0).configuration().learners, 0);
}

TEST_F(MembersMoverTest, ANewTargetIsTakenUpByAllRows) {
  MembersMover mover({.self = NodeId{1}}, columns_, registry_);
  mover.set_targets(for_all(voters({1, 2, 3})), 1);
  EXPECT_EQ(mover.progress().settled, kRows);
  EXPECT_FALSE(mover.waiting());
  mover.set_targets(for_all(voters({1, 2})), 2);
  EXPECT_EQ(mover.progress().settled, 0u);
  mover.advance(input_, rows_);
  EXPECT_EQ(decide_all(mover), kRows);
  EXPECT_EQ(counts_of(mover),
            (MembersProgress{.epoch = 2, .led = kRows, .settled = kRows, .ready = kRows}));
}

}  // namespace
}  // namespace gcoord::server
