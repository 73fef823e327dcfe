// Engines whose peers come, move and go while they run (docs/adr/0107): three founders, and nodes
// that join them.
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::Member;
using protocol::MemberState;

constexpr std::uint32_t kShards = 8;
constexpr std::uint32_t kFounders = 3;

class EngineMembers : public testing::TestWithParam<std::uint32_t> {
 protected:
  EngineMembers() {
    view_.epoch = 1;
    for (std::uint32_t id = 1; id <= kFounders; ++id) {
      view_.nodes.push_back(member(id, MemberState::Active));
    }
    cluster_.tune = [this](ReplicaOptions& options) {
      options.turn_threads = GetParam();
      const bool founder = options.node.value <= kFounders;
      options.joins = !founder && !has_directory_.contains(options.node.value);
      options.members_epoch = founder ? 0 : view_.epoch;
      const std::vector<NodeId> nodes = nodes_of(view_);
      std::erase_if(options.peers, [&](const netcore::PeerAddress& peer) {
        return founder ? peer.id.value > kFounders
                       : !std::binary_search(nodes.begin(), nodes.end(), peer.id);
      });
      has_directory_.insert(options.node.value);
    };
  }

  static Member member(std::uint32_t id, MemberState state) {
    Member member;
    member.id = NodeId{id};
    member.state = state;
    member.described = true;
    member.name = "node-" + std::to_string(id);
    member.peer_address = "loop:" + std::to_string(7000 + id);
    return member;
  }

  void start_founders() {
    for (std::uint32_t id = 1; id <= kFounders; ++id) {
      cluster_.start(id);
    }
    cluster_.run_until([this] { return cluster_.all_led() && cluster_.all_agreed(); });
  }

  // The next view, with the node in that state; every engine that runs hears of it.
  void change(const Member& changed) {
    ++view_.epoch;
    const auto found = std::find_if(view_.nodes.begin(),
                                    view_.nodes.end(),
                                    [&](const Member& known) { return known.id == changed.id; });
    if (found == view_.nodes.end()) {
      view_.nodes.push_back(changed);
    } else {
      *found = changed;
    }
    tell_all();
  }

  void tell_all() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      if (cluster_.node(id).engine) {
        cluster_.engine(id).set_members({.view = view_, .earlier_voters = {}});
      }
    }
  }

  void add(std::uint32_t id) {
    change(member(id, MemberState::Joining));
    cluster_.start(id);
  }

  const NodePeerView* peer(std::uint32_t id, std::uint32_t other) {
    view_of_node_ = cluster_.engine(id).view();
    const auto found = std::find_if(
        view_of_node_.peers.begin(), view_of_node_.peers.end(), [other](const NodePeerView& each) {
          return each.link.id.value == other;
        });
    return found == view_of_node_.peers.end() ? nullptr : &*found;
  }

  bool lives(std::uint32_t id, std::uint32_t other) {
    const NodePeerView* found = peer(id, other);
    return found != nullptr && found->live;
  }

  bool all_live(const std::vector<std::uint32_t>& ids) {
    for (const std::uint32_t one : ids) {
      for (const std::uint32_t other : ids) {
        if (one != other && !lives(one, other)) {
          return false;
        }
      }
    }
    return true;
  }

  // One command in every shard, answered by whoever leads it.
  void decide(const std::string& text) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint32_t leader = cluster_.leader_of(shard);
      ASSERT_NE(leader, 0u);
      asked.emplace_back(leader, cluster_.propose(leader, shard, text));
    }
    cluster_.run_until([&] {
      return std::all_of(asked.begin(), asked.end(), [&](const auto& each) {
        return cluster_.decided(each.first, each.second);
      });
    });
  }

  std::uint32_t failure(std::uint32_t id) { return cluster_.engine(id).failure().detail(); }

  static constexpr std::uint32_t kNodes = 6;

  EngineCluster cluster_{kNodes, kShards};
  protocol::ClusterView view_;
  std::set<std::uint32_t> has_directory_;
  NodeView view_of_node_;
};

TEST_P(EngineMembers, ANodeThatIsAddedIsAPeerOfAllAndDoesNothingOfItself) {
  start_founders();
  const Term term = cluster_.engine(1).view(ShardId{0}).term;
  add(4);
  add(5);
  cluster_.run_until([this] { return all_live({1, 2, 3, 4, 5}); });
  cluster_.run_ms(5000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    for (const std::uint32_t id : {4u, 5u}) {
      const ShardView view = cluster_.engine(id).view(ShardId{shard});
      EXPECT_EQ(view.role, consensus::Role::Follower);
      EXPECT_EQ(view.term, Term{0});
      EXPECT_EQ(view.configuration.members(), 0u);
    }
  }
  EXPECT_EQ(cluster_.engine(1).view(ShardId{0}).term, term);
  EXPECT_TRUE(cluster_.engine(4).view().established);
  EXPECT_EQ(cluster_.engine(4).view().vote_after, Tick{0});
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
  add(4);
  cluster_.run_until([this] { return all_live({1, 2, 3, 4}); });
  cluster_.engine(4).request_checkpoint();
  cluster_.run_ms(200);
  cluster_.stop(4);
  cluster_.start(4);  // Without ReplicaOptions::joins.
  cluster_.run_until([this] { return all_live({1, 2, 3, 4}); });
  cluster_.run_ms(3000);
  EXPECT_EQ(cluster_.engine(4).view(ShardId{0}).configuration.members(), 0u);
  EXPECT_EQ(cluster_.engine(4).view(ShardId{0}).role, consensus::Role::Follower);
  EXPECT_TRUE(cluster_.engine(4).view().established);
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

INSTANTIATE_TEST_SUITE_P(TurnThreads, EngineMembers, testing::Values(1u, 2u));

}  // namespace
}  // namespace gcoord::server
