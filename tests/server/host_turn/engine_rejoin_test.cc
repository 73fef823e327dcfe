// Durable mode in whole engines: nodes whose data directory is lost, or is an old copy, come back
// from their peers when the operator says that they may.
#include "common/incarnation.h"
#include "ledger/directory/identity_file.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 32;

class RejoinTest : public testing::Test {
 protected:
  RejoinTest() : cluster_(5, kShards) {
    cluster_.tune = [this](ReplicaOptions& options) {
      options.rejoin = rejoin_;
      options.repaired_shards = repaired_;
      options.seed += salt_;
    };
  }

  void start() {
    cluster_.start_all();
    cluster_.run_until([this] { return cluster_.all_led() && cluster_.all_agreed(); });
  }

  // One command in every shard, answered by whoever leads it.
  void decide(const std::string& text) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
    cluster_.run_until([this] { return cluster_.all_led(); });
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint32_t leader = cluster_.leader_of(shard);
      asked.emplace_back(leader, cluster_.propose(leader, shard, text));
    }
    cluster_.run_until([&] {
      return std::all_of(asked.begin(), asked.end(), [&](const auto& each) {
        return cluster_.decided(each.first, each.second);
      });
    });
    told_.push_back(text);
  }

  void lose_disk(std::uint32_t id) {
    cluster_.stop(id);
    cluster_.wipe(id);
    ++salt_;  // The empty directory draws another id.
  }

  // As gcoordd: an engine that has become another life of its node is opened again.
  bool reopened(std::uint32_t id) {
    const Status ended = cluster_.engine(id).failure();
    if (ended.detail() != kDirectoryTakenOver) {
      return false;
    }
    cluster_.stop(id);
    cluster_.start(id);
    return true;
  }

  // Until the node votes in every shard again; how often it was opened anew on the way.
  int rejoin(std::uint32_t id) {
    int openings = 0;
    rejoin_ = true;
    cluster_.start(id);
    cluster_.run_until(
        [&] {
          openings += reopened(id) ? 1 : 0;
          return whole(id);
        },
        60000);
    rejoin_ = false;
    return openings;
  }

  bool whole(std::uint32_t id) {
    const NodeView view = cluster_.engine(id).view();
    return !view.rejoining && view.forgotten_count == 0 && view.voting_count == kShards;
  }

  std::uint32_t generation(std::uint32_t id) {
    return generation_of(cluster_.engine(id).view().incarnation);
  }

  void expect_all_told() {
    cluster_.run_until([this] { return cluster_.all_agreed(); });
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      for (std::uint32_t id = 1; id <= 5; ++id) {
        if (cluster_.node(id).engine) {
          EXPECT_EQ(cluster_.service(id).commands(ShardId{shard}), told_) << shard;
        }
      }
    }
  }

  // Node 3 is put back to an image from before a life that only node 5 has met.
  void put_back_where_only_node_5_knows() {
    cluster_.stop(3);
    const auto backup = cluster_.back_up(3);
    for (const std::uint32_t id : {1u, 2u, 4u}) {
      cluster_.stop(id);
    }
    cluster_.start(3);
    cluster_.run_ms(1000);
    cluster_.stop(3);
    cluster_.restore(3, backup);
    ++salt_;  // A start draws another life.
  }

  bool rejoin_ = false;
  std::vector<ShardId> repaired_;
  std::uint64_t salt_ = 0;
  std::vector<std::string> told_;
  EngineCluster cluster_;
};

TEST_F(RejoinTest, ANodeWhoseDiskIsLostIsAVoterAgainEverywhere) {
  start();
  decide("a");
  lose_disk(5);
  decide("b");
  EXPECT_EQ(rejoin(5), 1);
  EXPECT_EQ(generation(5), 1u);
  expect_all_told();
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const auto configuration = cluster_.engine(1).view(ShardId{shard}).configuration;
    EXPECT_EQ(configuration.voters, 0b11111u) << shard;
    EXPECT_EQ(configuration.learners, 0u) << shard;
  }
  // It counts: two others may go.
  cluster_.stop(1);
  cluster_.stop(2);
  decide("c");
  expect_all_told();
}

TEST_F(RejoinTest, WithoutTheOperatorsWordItStaysRefused) {
  start();
  lose_disk(5);
  cluster_.start(5);
  cluster_.run_ms(3000);
  EXPECT_EQ(cluster_.engine(5).failure().detail(), kDirectoryRefused);
  EXPECT_NE(cluster_.engine(5).failure().message().find("--rejoin"), std::string::npos);
}

TEST_F(RejoinTest, TwoOfFiveLoseTheirDisksAndNothingThatWasAnsweredIsLost) {
  start();
  decide("a");
  lose_disk(4);
  lose_disk(5);
  decide("b");
  rejoin(4);
  decide("c");
  rejoin(5);
  expect_all_told();
  EXPECT_EQ(generation(4), 1u);
  EXPECT_EQ(generation(5), 1u);
  // A majority of which two have lost their disks decides.
  cluster_.stop(1);
  cluster_.stop(2);
  decide("d");
  expect_all_told();
}

TEST_F(RejoinTest, AnOldCopyKeepsItsLogAndFollowsUntilItIsReadmitted) {
  start();
  decide("a");
  cluster_.stop(3);
  const auto backup = cluster_.back_up(3);
  cluster_.start(3);
  decide("b");
  cluster_.run_ms(1000);
  cluster_.stop(3);
  cluster_.restore(3, backup);
  rejoin_ = true;
  cluster_.start(3);
  cluster_.run_until([this] { return reopened(3); });
  // Every row came back forgetful, and with what the copy holds: the mark outlives the turn in
  // which the refusal came, although that engine had forgotten nothing.
  EXPECT_EQ(cluster_.engine(3).view().forgotten_count, kShards);
  EXPECT_GT(cluster_.engine(3).view(ShardId{0}).last, LogIndex{0});
  cluster_.run_until([this] { return whole(3); }, 60000);
  expect_all_told();
}

TEST_F(RejoinTest, AnOldCopyOfWhichOnlyOnePeerKnowsRejoins) {
  start();
  decide("a");
  put_back_where_only_node_5_knows();
  for (const std::uint32_t id : {1u, 2u, 4u}) {
    cluster_.start(id);
  }
  decide("b");
  EXPECT_EQ(rejoin(3), 1);
  EXPECT_EQ(generation(3), 1u);
  decide("c");
  expect_all_told();
}

// Node 5 calls it, too, and closes each channel as soon as it has seen who answers.
TEST_F(RejoinTest, AnOldCopyDoesNotVoteWhileThePeerThatKnowsCallsIt) {
  start();
  decide("a");
  put_back_where_only_node_5_knows();
  cluster_.start(3);
  cluster_.run_ms(2000);  // It has heard node 5.
  cluster_.start(4);
  cluster_.run_ms(10000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.leader_of(shard), 0u) << shard;
  }
  cluster_.start(1);
  cluster_.run_until([this] { return cluster_.all_led(); });
}

TEST_F(RejoinTest, ARestartOnTheWayBackForgetsAgainAndComesThrough) {
  start();
  decide("a");
  lose_disk(5);
  decide("b");
  rejoin_ = true;
  cluster_.start(5);
  cluster_.run_until([this] { return reopened(5); });
  // It is a learner of some shards already, and has not been told so of all.
  const auto learns = [this](std::uint32_t shard) {
    const std::uint32_t leader = cluster_.leader_of(shard);
    return leader != 0 && cluster_.engine(leader).view(ShardId{shard}).configuration.learners != 0;
  };
  const auto midway = [&] {
    bool any = false;
    for (std::uint32_t shard = 0; shard < kShards && !any; ++shard) {
      any = learns(shard);
    }
    return any && cluster_.engine(5).view().forgotten_count != 0;
  };
  for (std::uint32_t turn = 0; turn < 100'000 && !midway(); ++turn) {
    cluster_.turn_all();
    cluster_.advance_ms(turn % 16 == 0 ? 10 : 0);
  }
  ASSERT_TRUE(midway());
  const std::uint32_t untold = cluster_.engine(5).view().forgotten_count;
  cluster_.stop(5);
  rejoin_ = false;  // What is under way needs no further word.
  cluster_.start(5);
  EXPECT_GE(cluster_.engine(5).view().forgotten_count, untold);
  EXPECT_TRUE(cluster_.engine(5).view().rejoining);
  cluster_.run_until([this] { return whole(5); }, 60000);
  EXPECT_EQ(generation(5), 1u);
  expect_all_told();
  // Once through, a restart forgets nothing.
  cluster_.stop(5);
  cluster_.start(5);
  EXPECT_EQ(cluster_.engine(5).view().forgotten_count, 0u);
}

TEST_F(RejoinTest, TwoReplacementsInARowAreTwoGenerations) {
  start();
  decide("a");
  lose_disk(5);
  rejoin(5);
  decide("b");
  lose_disk(5);
  rejoin(5);
  EXPECT_EQ(generation(5), 2u);
  expect_all_told();
}

// One peer has met a directory that the others have not: the first refusal makes a directory that
// this peer refuses, and the second one a directory that all admit.
TEST_F(RejoinTest, PeersThatRememberDifferentGenerationsAgreeInTheEnd) {
  start();
  decide("a");
  lose_disk(5);
  cluster_.stop(2);
  cluster_.stop(3);
  rejoin_ = true;
  cluster_.start(5);
  cluster_.run_until([this] { return reopened(5); });
  cluster_.run_ms(500);  // Nodes 1 and 4 meet generation 1.
  lose_disk(5);
  cluster_.stop(1);
  cluster_.stop(4);
  cluster_.start(2);
  cluster_.start(3);
  cluster_.start(5);
  cluster_.run_until([this] { return reopened(5); });
  EXPECT_EQ(generation(5), 1u);
  cluster_.run_ms(500);  // Nodes 2 and 3 meet another directory of generation 1.
  cluster_.start(1);
  cluster_.start(4);
  cluster_.run_until([this] { return reopened(5); });
  EXPECT_EQ(generation(5), 2u);
  cluster_.run_until([this] { return whole(5); }, 60000);
  expect_all_told();
}

// The view may have more nodes than a cluster is founded with, and not all of them vote.
TEST_F(RejoinTest, ANodeThatKnewAViewComesBackIntoALargeOne) {
  start();
  decide("a");
  ClusterMembers members;
  members.view.epoch = 1;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    protocol::Member member;
    member.id = NodeId{id};
    members.view.nodes.push_back(member);
  }
  for (std::uint32_t id = 1; id <= 5; ++id) {
    cluster_.engine(id).set_members(members);
  }
  lose_disk(5);
  decide("b");
  const auto tune = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    tune(options);
    options.carried = rejoin_;
    options.members_epoch = 1;
    for (std::uint32_t observer = 6; observer <= 9; ++observer) {
      options.peers.push_back({NodeId{observer}, "loop", 0});
    }
  };
  EXPECT_EQ(rejoin(5), 1);
  decide("c");
  expect_all_told();
  // Once it is whole it needs no such word, and is no newcomer.
  cluster_.stop(5);
  cluster_.start(5);
  cluster_.run_until([this] { return whole(5); });
  expect_all_told();
}

// Nodes that rejoined remember no directory of their peers. An empty one that they meet must not
// count before those that do remember have seen it.
TEST_F(RejoinTest, AnEmptyDirectoryCountsNowhereBeforeAllNodesHaveMetIt) {
  start();
  decide("a");
  for (const std::uint32_t id : {1u, 2u}) {
    lose_disk(id);
    rejoin(id);
  }
  for (const std::uint32_t id : {3u, 4u, 5u}) {
    cluster_.stop(id);
  }
  cluster_.stop(1);
  cluster_.stop(2);
  // As if nodes 1 and 2 had never met node 5.
  cluster_.wipe(5);
  ++salt_;
  for (const std::uint32_t id : {1u, 2u}) {
    const ledger::NodeIdentity identity{ClusterId{77}, NodeId{id}, kShards};
    auto file = ledger::IdentityFile::open(cluster_.node(id).identity_disk, identity, 1).value();
    ASSERT_TRUE(file->remember_peers({}).ok());
  }
  cluster_.start(1);
  cluster_.start(2);
  cluster_.start(5);
  cluster_.run_ms(10000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(cluster_.leader_of(shard), 0u) << shard;
  }
  EXPECT_EQ(cluster_.engine(5).view().forgotten_count, kShards);
}

TEST_F(RejoinTest, ShardsThatAreRepairedComeFromTheOthersAndTheRestIsKept) {
  start();
  decide("a");
  for (const std::uint32_t id : {1u, 2u, 3u, 4u}) {
    cluster_.engine(id).request_checkpoint();
  }
  decide("b");
  cluster_.stop(5);
  decide("c");
  repaired_ = {ShardId{3}, ShardId{7}};
  ++salt_;
  cluster_.start(5);
  EXPECT_EQ(generation(5), 1u);
  EXPECT_EQ(cluster_.engine(5).view().forgotten_count, 2u);
  EXPECT_EQ(cluster_.engine(5).view(ShardId{3}).last, LogIndex{0});
  EXPECT_TRUE(cluster_.service(5).commands(ShardId{7}).empty());
  EXPECT_GT(cluster_.engine(5).view(ShardId{4}).last, LogIndex{0});
  cluster_.run_until([this] { return whole(5); }, 60000);
  expect_all_told();
  // It counts in them again: two others may go.
  cluster_.stop(1);
  cluster_.stop(2);
  decide("d");
  expect_all_told();
}

TEST_F(RejoinTest, ARepairThatIsBrokenOffBeginsAnewAndEndsWithACheckpoint) {
  start();
  decide("a");
  cluster_.stop(5);
  repaired_ = {ShardId{3}};
  for (std::uint32_t life = 1; life <= 3; ++life) {
    ++salt_;
    cluster_.start(5);
    EXPECT_EQ(generation(5), life);
    EXPECT_EQ(cluster_.engine(5).view().forgotten_count, 1u);
    if (life < 3) {
      cluster_.run_ms(life * 300);
      cluster_.stop(5);
    }
  }
  cluster_.run_until([this] { return whole(5); }, 60000);
  cluster_.engine(5).request_checkpoint();
  cluster_.wait_for([this] { return cluster_.engine(5).view().checkpoint_count > 0; });
  decide("b");
  expect_all_told();
  cluster_.stop(5);
  repaired_.clear();
  cluster_.start(5);
  EXPECT_EQ(generation(5), 3u);
  EXPECT_EQ(cluster_.engine(5).view().forgotten_count, 0u);
  cluster_.run_until([this] { return whole(5); }, 60000);
  expect_all_told();
}

TEST_F(RejoinTest, InMemoryModeALostDirectoryComesBackTheSameWay) {
  cluster_.tune = [this](ReplicaOptions& options) {
    options.rejoin = rejoin_;
    options.seed += salt_;
    options.durability = consensus::Durability::Memory;
  };
  start();
  decide("a");
  lose_disk(5);
  decide("b");
  EXPECT_EQ(rejoin(5), 1);
  expect_all_told();
}

}  // namespace
}  // namespace gcoord::server
