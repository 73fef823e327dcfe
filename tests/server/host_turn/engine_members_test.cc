// Engines whose peers come, move and go while they run (docs/adr/0107). Nobody is
// promoted, so the founders go on deciding.
#include "ledger/directory/identity_file.h"
#include "tests/server/host_turn/changing_cluster.h"

namespace gcoord::server {
namespace {

using protocol::Member;
using protocol::MemberState;

class EngineMembers : public ChangingCluster, public testing::WithParamInterface<std::uint32_t> {
 protected:
  EngineMembers() { turn_threads_ = GetParam(); }

  // Whether the node knows of each shard that it is a learner of it.
  bool learns(std::uint32_t id) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const auto configuration = cluster_.engine(id).view(ShardId{shard}).configuration;
      const std::uint8_t slot = consensus::slot_of(configuration, NodeId{id});
      if (slot == consensus::kSlotNone || !consensus::has_slot(configuration.learners, slot)) {
        return false;
      }
    }
    return true;
  }
};

// Two newcomers and a founder are three nodes, but nobody who could elect.
TEST_P(EngineMembers, NodesThatAreAddedDoNothingOfThemselves) {
  start_founders();
  cluster_.stop(2);
  cluster_.stop(3);
  add(4);
  add(5);
  cluster_.run_until([this] { return all_live({1, 4, 5}); });
  cluster_.run_ms(5000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    for (const std::uint32_t id : {4u, 5u}) {
      const ShardView view = cluster_.engine(id).view(ShardId{shard});
      EXPECT_EQ(view.role, consensus::Role::Follower);
      EXPECT_EQ(view.term, Term{0});
      EXPECT_EQ(view.configuration.members(), 0u);
    }
    EXPECT_NE(cluster_.engine(1).view(ShardId{shard}).role, consensus::Role::Leader);
  }
  EXPECT_TRUE(cluster_.engine(4).view().established);
  EXPECT_EQ(cluster_.engine(4).view().vote_after, Tick{0});
  // A founder more, and their leaders take the newcomers in, without a vote.
  cluster_.start(2);
  tell_all();
  cluster_.run_until([this] { return cluster_.all_led() && learns(4) && learns(5); });
  EXPECT_EQ(cluster_.engine(4).view(ShardId{0}).configuration.voters, 0b111u);
}

TEST_P(EngineMembers, TheOthersGoOnWhileOneIsAddedAndAnotherIsDead) {
  start_founders();
  cluster_.stop(3);
  cluster_.run_until([this] { return cluster_.all_led(); });
  add(4);
  cluster_.run_until([this] { return all_live({1, 2, 4}); });
  decide("a");
  // The one that was dead knows of no newcomer until it hears the view.
  cluster_.start(3);
  cluster_.run_until([this] { return all_live({1, 2, 3}); });
  EXPECT_EQ(peer(3, 4), nullptr);
  EXPECT_FALSE(lives(4, 3));
  EXPECT_TRUE(cluster_.engine(4).failure().ok());
  tell_all();
  cluster_.run_until([this] { return all_live({1, 2, 3, 4}); });
}

TEST_P(EngineMembers, ARemovedNodeIsRefusedForEverAndEnds) {
  start_founders();
  add(4);
  cluster_.run_until([this] { return all_live({1, 2, 3, 4}); });
  ++view_.epoch;
  view_.nodes.back().state = MemberState::Removed;
  for (std::uint32_t id = 1; id <= kFounders; ++id) {
    cluster_.engine(id).set_members({.view = view_, .earlier_voters = {}});
  }
  cluster_.run_until([this] { return failure(4) == kNodeRemoved; });
  const std::string text = cluster_.engine(4).failure().message();
  EXPECT_NE(text.find("node 4 was removed from the cluster"), std::string::npos) << text;
  EXPECT_EQ(peer(1, 4), nullptr);
  EXPECT_TRUE(all_live({1, 2, 3}));
  EXPECT_EQ(cluster_.gauge(1, "gcoord_netcore_peer_up"), 2);
  // It comes back, also to a node that was started since and has the tombstone from its options.
  cluster_.stop(4);
  cluster_.stop(2);
  const auto tune = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    tune(options);
    if (options.node.value <= kFounders) {
      options.removed = {NodeId{4}};
      options.members_epoch = view_.epoch;
    }
  };
  cluster_.start(2);
  cluster_.run_until([this] { return all_live({1, 2, 3}); });
  cluster_.stop(1);
  cluster_.stop(3);
  cluster_.start(4);
  cluster_.run_until([this] { return peer(4, 2)->link.state == netcore::LinkState::Refused; });
  cluster_.run_ms(1000);
  EXPECT_TRUE(cluster_.engine(4).failure().ok());  // By the word of one of three.
  cluster_.start(3);
  cluster_.run_until([this] { return failure(4) == kNodeRemoved; });
}

TEST_P(EngineMembers, ANodeThatLearnsFromTheViewThatItIsRemovedEnds) {
  start_founders();
  ++view_.epoch;
  view_.nodes[0].state = MemberState::Removed;
  cluster_.engine(1).set_members({.view = view_, .earlier_voters = {}});
  cluster_.settle();
  EXPECT_EQ(failure(1), kNodeRemoved);
  EXPECT_NE(cluster_.engine(1).failure().message().find("by view 2"), std::string::npos);
}

TEST_P(EngineMembers, AnOlderViewChangesNothing) {
  start_founders();
  const protocol::ClusterView old = view_;
  add(4);
  cluster_.run_until([this] { return all_live({1, 2, 3, 4}); });
  protocol::ClusterView forged = old;
  forged.nodes[1].state = MemberState::Removed;
  cluster_.engine(1).set_members({.view = forged, .earlier_voters = {}});
  cluster_.run_ms(100);
  EXPECT_TRUE(all_live({1, 2, 3, 4}));
}

TEST_P(EngineMembers, APeerThatMovesIsFoundAtItsNewAddress) {
  start_founders();
  tell_all();
  cluster_.run_until([this] { return all_live({1, 2, 3}); });
  cluster_.stop(1);
  Member moved = member(1, MemberState::Active);
  moved.peer_address = "loop:8001";
  change(moved);
  EXPECT_EQ(peer(3, 1)->link.address, "loop:7001");  // The turn that follows it comes later.
  const auto tune = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    tune(options);
    options.listen_port = options.node == NodeId{1} ? std::uint16_t{8001} : options.listen_port;
    for (netcore::PeerAddress& each : options.peers) {
      each.port = 0;  // It calls nobody, so it has to be found.
    }
  };
  cluster_.start(1);
  cluster_.run_until([this] { return all_live({1, 2, 3}); });
  EXPECT_EQ(peer(3, 1)->link.address, "loop:8001");
  EXPECT_EQ(peer(3, 2)->link.address, "loop:7002");
}

TEST_P(EngineMembers, ANodeThatJoinedRemembersThatItDid) {
  start_founders();
  cluster_.stop(2);
  cluster_.stop(3);
  add(4);
  cluster_.run_until([this] { return all_live({1, 4}); });
  cluster_.stop(4);
  cluster_.start(4);  // Without ReplicaOptions::joins.
  cluster_.run_until([this] { return all_live({1, 4}); });
  cluster_.run_ms(3000);
  EXPECT_EQ(cluster_.engine(4).view(ShardId{0}).configuration.members(), 0u);
  EXPECT_EQ(cluster_.engine(4).view(ShardId{0}).role, consensus::Role::Follower);
  EXPECT_TRUE(cluster_.engine(4).view().established);
  cluster_.start(3);
  tell_all();
  cluster_.run_until([this] { return learns(4); });
}

// Founders that know the view do not count nodes; one that does not yet compares what the cluster
// was founded with, which founders go on saying.
TEST_P(EngineMembers, FoundersAgreeOnTheNumberOfNodesWhateverViewTheyKnow) {
  start_founders();
  add(4);
  cluster_.run_until([this] { return all_live({1, 2, 3, 4}); });
  cluster_.stop(1);
  cluster_.stop(2);
  const auto tune = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    tune(options);
    if (options.node == NodeId{1}) {  // Started with the view: four nodes.
      options.members_epoch = view_.epoch;
      options.peers.push_back({NodeId{4}, "loop", 7004});
    }
  };
  cluster_.start(1);
  cluster_.start(2);  // Started with the fixed list: three.
  cluster_.run_until([this] { return all_live({1, 2, 3}) && lives(1, 4); });
  EXPECT_EQ(peer(2, 4), nullptr);
}

// Of a restored cluster each founder has to be restored; who joins begins with nothing.
TEST_P(EngineMembers, ANodeJoinsAClusterThatWasRestored) {
  for (std::uint32_t id = 1; id < kFounders; ++id) {
    const ledger::NodeIdentity identity{ClusterId{77}, NodeId{id}, kShards, true};
    ASSERT_TRUE(ledger::IdentityFile::create(cluster_.node(id).identity_disk,
                                             identity,
                                             900 + id,
                                             Incarnation{ledger::kRestoredStart})
                    .ok());
  }
  for (std::uint32_t id = 1; id <= kFounders; ++id) {
    cluster_.start(id);
  }
  add(4);
  cluster_.run_until([this] { return all_live({1, 2, 4}); });
  cluster_.run_ms(3000);
  EXPECT_FALSE(lives(1, kFounders));
}

// A view may have many nodes; the shards have the configurations that they have.
TEST_P(EngineMembers, ANodeOpensWithAsManyPeersAsAViewHolds) {
  start_founders();
  decide("a");
  cluster_.stop(1);
  const auto tune = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    tune(options);
    options.members_epoch = 9;
    for (std::uint32_t id = 4; id <= 64; ++id) {
      options.peers.push_back({NodeId{id}, "loop", static_cast<std::uint16_t>(7000 + id)});
    }
  };
  cluster_.start(1);
  cluster_.run_until([this] { return all_live({1, 2, 3}) && cluster_.all_agreed(); });
  EXPECT_EQ(cluster_.engine(1).view().peers.size(), 63u);
  decide("b");
  cluster_.stop(1);
  const auto most = cluster_.tune;
  cluster_.tune = [&](ReplicaOptions& options) {
    most(options);
    options.peers.push_back({NodeId{65}, "loop", 7065});
  };
  EXPECT_EQ(cluster_.try_start(1).detail(), kEngineOptions);
}

INSTANTIATE_TEST_SUITE_P(TurnThreads, EngineMembers, testing::Values(1u, 2u));

}  // namespace
}  // namespace gcoord::server
