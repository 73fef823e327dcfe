// The cluster view on three engines: made once, carried by checkpoints, snapshots and restarts,
// changed for one epoch only, and never made while a node lacks the feature.
#include "protocol/error_codes.h"
#include "server/members/node_members.h"
#include "tests/server/host_turn/engine_cluster.h"
#include "tests/server/last_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using membership::ClusterView;
using protocol::ErrorCode;

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kShards = 4;

class ViewEngineTest : public testing::Test {
 protected:
  // Around one node's engine.
  struct Around {
    std::unique_ptr<ViewMachine> machine;
    std::unique_ptr<NodeMembers> members;
    LastAnswer replies;
    membership::ViewSettings settings = {.shards = kShards, .tick_ms = 10, .election_ms = 1000};
    std::string port = "7500";
    std::uint32_t host = 0;  // Whose host it says is its own; 0: its own.
    std::string client;      // Empty: "client:ID".
    bool has_feature = true;
    std::uint64_t pause_ms = 0;
  };

  ViewEngineTest() : around_(kNodes + 1), cluster_(kNodes, kShards) {
    cluster_.around = [this](std::uint32_t id, StateMachine& inner) -> StateMachine& {
      around_[id].machine = std::make_unique<ViewMachine>(inner);
      return *around_[id].machine;
    };
    cluster_.after_turn = [this](EngineCluster::Node& node) { pass(node.id.value); };
  }

  ~ViewEngineTest() override {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      stop(id);
    }
  }

  void start(std::uint32_t id) {
    cluster_.start(id);
    Around& around = around_[id];
    ViewKeeperOptions options;
    options.self.id = NodeId{id};
    options.self.incarnation = cluster_.engine(id).incarnation();
    options.self.name = "n" + std::to_string(id);
    options.self.labels = {{"zone", "z" + std::to_string(id)}};
    options.self.peer_address =
        "host" + std::to_string(around.host ? around.host : id) + ":" + around.port;
    options.settings = around.settings;
    options.pause_ms = around.pause_ms;
    for (std::uint32_t other = 1; other <= kNodes; ++other) {
      if (other != id) {
        options.peers.emplace(NodeId{other}, "listed:" + std::to_string(other));
      }
    }
    around.members = std::make_unique<NodeMembers>(
        options,
        NodeMembers::Environment{.log = cluster_.engine(id),
                                 .machine = *around.machine,
                                 .replies = around.replies,
                                 .metrics = *cluster_.node(id).metrics,
                                 .all_have = [this] { return all_have(); },
                                 .wall_ms = [] { return std::uint64_t{5}; }});
    around.members->start(around.client.empty() ? "client:" + std::to_string(id) : around.client);
  }

  void start_all() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      start(id);
    }
  }

  void stop(std::uint32_t id) {
    cluster_.stop(id);
    around_[id].members.reset();
  }

  bool all_have() const {
    return std::all_of(
        around_.begin() + 1, around_.end(), [](const Around& each) { return each.has_feature; });
  }

  // What a node's loop does beside its turn; what nodes say reaches all at once.
  void pass(std::uint32_t id) {
    Around& around = around_[id];
    if (around.members == nullptr) {
      return;
    }
    for (std::uint32_t other = 1; other <= kNodes; ++other) {
      if (other != id && around_[other].members != nullptr && around.has_feature) {
        around_[other].members->hear(
            NodeId{id}, cluster_.engine(id).incarnation(), around.members->announcement());
      }
    }
    now_ms_ += 10;
    around.members->advance(now_ms_);
  }

  const ClusterView& view(std::uint32_t id) const { return around_[id].machine->views().view(); }

  bool all_at(std::uint64_t epoch) {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      if (cluster_.node(id).engine && view(id).epoch != epoch) {
        return false;
      }
    }
    return true;
  }

  void await_epoch(std::uint64_t epoch) {
    cluster_.run_until([&] { return all_at(epoch); });
  }

  std::uint32_t leader() {
    cluster_.run_until([this] { return cluster_.leader_of(0) != 0; });
    return cluster_.leader_of(0);
  }

  void send(std::uint32_t id, protocol::RequestKind kind, const std::vector<std::byte>& payload) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.request_id = 1;
    around_[id].members->on_request(protocol::ConnectionId{1}, slot, payload);
  }

  static protocol::MemberOrder named(std::uint64_t expected, std::string name) {
    protocol::MemberOrder order;
    order.change.node = NodeId{2};
    order.change.expected = expected;
    order.change.number = ++numbers_;
    order.change.name = std::move(name);
    order.change.who = "ann@build";
    return order;
  }

  // Sends it to the leader and waits for the answer.
  const LastAnswer& change(const protocol::MemberOrder& order) {
    const std::uint32_t id = leader();
    LastAnswer& replies = around_[id].replies;
    const int before = replies.count;
    send(id, protocol::RequestKind::MemberUpdate, protocol::encode_member_order(order));
    cluster_.run_until([&] { return replies.count > before; });
    return replies;
  }

  static inline std::uint64_t numbers_ = 0;
  std::vector<Around> around_;
  std::uint64_t now_ms_ = 0;
  EngineCluster cluster_;
};

TEST_F(ViewEngineTest, ViewOneAppearsOnceOnAllNodesAsEachDescribedItself) {
  start_all();
  await_epoch(1);
  cluster_.run_ms(3000);
  ASSERT_TRUE(all_at(1));
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    EXPECT_EQ(view(id), view(1));
    EXPECT_EQ(view(id).nodes[id - 1].name, "n" + std::to_string(id));
    EXPECT_EQ(view(id).nodes[id - 1].client_address, "client:" + std::to_string(id));
    EXPECT_EQ(protocol::member_labels_text(view(id).nodes[id - 1].labels),
              "zone=z" + std::to_string(id));
    EXPECT_EQ(cluster_.gauge(id, "gcoord_view_epoch"), 1);
    EXPECT_EQ(cluster_.gauge(id, "gcoord_view_peer_epoch"), 2);  // Of two peers, 1 each.
    EXPECT_EQ(around_[id].machine->state_hash(kViewShard),
              around_[1].machine->state_hash(kViewShard));
  }
}

TEST_F(ViewEngineTest, ThereIsNoViewWhileANodeLacksTheFeature) {
  around_[3].has_feature = false;
  start_all();
  cluster_.run_ms(5000);
  EXPECT_TRUE(all_at(0));
  send(1, protocol::RequestKind::ViewGet, protocol::encode_view_query({}));
  EXPECT_EQ(around_[1].replies.error(), ErrorCode::ViewAbsent);
  // Nothing stands behind what earlier releases write.
  std::vector<std::byte> bytes;
  std::vector<std::byte> plain;
  around_[1].machine->serialize(kViewShard, bytes);
  cluster_.service(1).serialize(kViewShard, plain);
  EXPECT_EQ(bytes, plain);
  around_[3].has_feature = true;
  await_epoch(1);
}

TEST_F(ViewEngineTest, AClusterThatWasUpgradedCanGoBackForAWhile) {
  for (Around& each : around_) {
    each.has_feature = false;
    each.pause_ms = 3'000'000;
  }
  start_all();
  leader();
  stop(2);
  start(2);
  for (Around& each : around_) {
    each.has_feature = true;
  }
  cluster_.run_ms(5000);
  EXPECT_TRUE(all_at(0));
  now_ms_ += 3'000'000;
  await_epoch(1);
}

TEST_F(ViewEngineTest, AClusterOfFirstLivesNeedsNoWhile) {
  for (Around& each : around_) {
    each.pause_ms = 3'000'000;
  }
  start_all();
  await_epoch(1);
}

TEST_F(ViewEngineTest, ThereIsNoViewWhileSettingsDiffer) {
  around_[2].settings.heartbeat_ms = 50;
  start_all();
  cluster_.run_ms(5000);
  EXPECT_TRUE(all_at(0));
  EXPECT_TRUE(around_[2].members->failure().ok());
}

TEST_F(ViewEngineTest, ANodeWithOtherSettingsThanTheViewMustEnd) {
  start_all();
  await_epoch(1);
  stop(2);
  around_[2].settings.tick_ms = 20;
  start(2);
  cluster_.run_until([this] { return !around_[2].members->failure().ok(); });
  EXPECT_EQ(around_[2].members->failure().detail(),
            static_cast<std::uint32_t>(ErrorCode::ViewSettingsDiffer));
  EXPECT_NE(around_[2].members->failure().message().find("--tick-ms is 20 here and 10"),
            std::string::npos)
      << around_[2].members->failure().message();
}

TEST_F(ViewEngineTest, ANodeWithOtherSettingsGoesOnAloneButChangesNothing) {
  start_all();
  await_epoch(1);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    stop(id);
  }
  around_[1].settings.election_ms = 3000;
  around_[2].settings.election_ms = 3000;
  start(1);
  start(2);
  cluster_.run_ms(5000);
  EXPECT_TRUE(around_[1].members->failure().ok());
  EXPECT_EQ(view(1).epoch, 1u);
}

TEST_F(ViewEngineTest, SettingsThatAllNodesWereStartedWithMakeTheNextView) {
  start_all();
  await_epoch(1);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    stop(id);
    around_[id].settings.election_ms = 3000;
  }
  start_all();
  cluster_.run_until([this] { return view(1).settings.election_ms == 3000; });
  EXPECT_GE(view(1).epoch, 2u);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    EXPECT_TRUE(around_[id].members->failure().ok());
  }
}

TEST_F(ViewEngineTest, ItOutlivesLeadersRestartsCheckpointsAndSnapshots) {
  start_all();
  await_epoch(1);
  ASSERT_EQ(change(named(1, "db")).error(), ErrorCode::None);
  await_epoch(2);
  const std::uint32_t first = leader();
  const std::uint32_t away = first % kNodes + 1;
  stop(away);
  // More than the log keeps without a checkpoint: who was away gets a snapshot.
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      if (cluster_.node(id).engine) {
        const std::uint64_t cookie = cluster_.propose(leader(), 0, "12345678 more");
        cluster_.run_until([&] { return cluster_.decided(leader(), cookie); });
        const std::uint64_t wanted = cluster_.engine(id).request_checkpoint();
        cluster_.wait_for(
            [&] { return cluster_.engine(id).checkpoint_outcome(wanted).has_value(); });
      }
    }
  }
  ASSERT_EQ(change(named(2, "db2")).error(), ErrorCode::None);
  ASSERT_EQ(view(first).epoch, 3u);
  stop(first);
  start(away);
  await_epoch(3);
  EXPECT_EQ(view(away), view(leader()));
  start(first);
  await_epoch(3);
  EXPECT_EQ(view(first).nodes[1].name, "db2");
  EXPECT_EQ(around_[first].machine->views().oldest(), 1u);
}

TEST_F(ViewEngineTest, ASnapshotOfTheShardCarriesIt) {
  start_all();
  await_epoch(1);
  std::vector<std::byte> bytes;
  around_[1].machine->serialize(kViewShard, bytes);
  ToyService inner;
  ViewMachine other{inner};
  ASSERT_TRUE(other.plausible(kViewShard, bytes));
  ASSERT_TRUE(other.install(kViewShard, bytes).ok());
  EXPECT_EQ(other.views(), around_[1].machine->views());
  EXPECT_EQ(other.state_hash(kViewShard), around_[1].machine->state_hash(kViewShard));
  bytes[bytes.size() - 9] ^= std::byte{0x80};
  EXPECT_FALSE(other.plausible(kViewShard, bytes));
  ASSERT_TRUE(other.install(kViewShard, {}).ok());
  EXPECT_TRUE(other.views().is_empty());
}

TEST_F(ViewEngineTest, ANodeThatMovedIsDescribedAgain) {
  start_all();
  await_epoch(1);
  stop(3);
  around_[3].port = "7599";
  start(3);
  await_epoch(2);
  EXPECT_EQ(view(1).nodes[2].peer_address, "host3:7599");
  EXPECT_EQ(view(1).nodes[2].name, "n3");
  stop(3);
  around_[3].client = "elsewhere:3";
  start(3);
  await_epoch(3);
  EXPECT_EQ(view(1).nodes[2].client_address, "elsewhere:3");
  EXPECT_EQ(view(1).nodes[2].peer_address, "host3:7599");
}

TEST_F(ViewEngineTest, AnAddressThatAnotherNodeHasIsNotTaken) {
  start_all();
  await_epoch(1);
  stop(3);
  around_[3].host = 2;
  around_[3].client = "elsewhere:3";
  start(3);
  await_epoch(2);
  cluster_.run_ms(3000);
  ASSERT_TRUE(all_at(2));
  EXPECT_EQ(view(1).nodes[2].peer_address, "host3:7500") << "node 2 has the other one";
  EXPECT_EQ(view(1).nodes[2].client_address, "elsewhere:3") << "which nobody else has";
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    EXPECT_EQ(cluster_.gauge(id, "gcoord_view_address_clashes"), 1);
  }
  // Once node 2 has gone elsewhere, its address is free.
  stop(2);
  around_[2].port = "7599";
  start(2);
  cluster_.run_until([this] { return view(1).nodes[2].peer_address == "host2:7500"; });
  EXPECT_EQ(view(1).nodes[1].peer_address, "host2:7599");
  cluster_.run_until([this] { return cluster_.gauge(1, "gcoord_view_address_clashes") == 0; });
}

TEST_F(ViewEngineTest, TwoNodesMaySwapTheirAddresses) {
  start_all();
  await_epoch(1);
  stop(2);
  stop(3);
  around_[2].host = 3;
  around_[3].host = 2;
  around_[2].client = "client:3";
  around_[3].client = "client:2";
  start(2);
  start(3);
  cluster_.run_until([this] {
    return view(1).nodes[1].peer_address == "host3:7500" &&
           view(1).nodes[2].peer_address == "host2:7500";
  });
  EXPECT_EQ(view(1).nodes[1].client_address, "client:3");
  EXPECT_EQ(view(1).nodes[2].client_address, "client:2");
}

TEST_F(ViewEngineTest, ChangesAreForOneViewAndARepeatedOneIsAnsweredAgain) {
  start_all();
  await_epoch(1);
  const protocol::MemberOrder order = named(1, "db");
  const LastAnswer& done = change(order);
  ASSERT_EQ(done.error(), ErrorCode::None);
  EXPECT_EQ(done.last.extra, 2u);
  EXPECT_EQ(change(order).last.extra, 2u);  // Its first answer may have been lost.
  EXPECT_EQ(change(named(1, "other")).error(), ErrorCode::ViewStale);
  protocol::MemberOrder wrong = named(2, "node-1");
  EXPECT_EQ(change(wrong).error(), ErrorCode::MemberNameInvalid);
  wrong.change.name = "n1";
  EXPECT_EQ(change(wrong).error(), ErrorCode::MemberNameTaken);
  wrong.change.name.reset();
  wrong.change.node = NodeId{9};
  EXPECT_EQ(change(wrong).error(), ErrorCode::MemberUnknown);
  wrong.change.node = NodeId{2};
  wrong.change.labels = {{"Zone", "a"}};
  EXPECT_EQ(change(wrong).error(), ErrorCode::MemberLabelInvalid);
  protocol::MemberOrder dry = named(2, "dry");
  dry.dry_run = true;
  EXPECT_EQ(change(dry).last.extra, 3u);
  cluster_.run_ms(1000);
  EXPECT_TRUE(all_at(2));
  const std::uint32_t follower = leader() % kNodes + 1;
  send(follower, protocol::RequestKind::MemberUpdate, protocol::encode_member_order(order));
  EXPECT_EQ(around_[follower].replies.error(), ErrorCode::NotLeader);
}

TEST_F(ViewEngineTest, WhoeverWaitsGetsTheNextViewOrTheNewestWhenItsTimeIsOver) {
  start_all();
  await_epoch(1);
  const std::uint32_t id = leader() % kNodes + 1;
  LastAnswer& replies = around_[id].replies;
  using Mode = protocol::ViewQuery::Mode;
  const auto wait = [&](std::uint64_t after) {
    send(id,
         protocol::RequestKind::ViewGet,
         protocol::encode_view_query({.mode = Mode::Next, .after = after, .wait_ms = 30'000}));
  };
  wait(0);
  EXPECT_EQ(replies.last.extra, 1u);
  wait(1);
  EXPECT_EQ(replies.parked, 1);
  ASSERT_EQ(change(named(1, "db")).error(), ErrorCode::None);
  cluster_.run_until([&] { return replies.parked == 0; });
  EXPECT_EQ(replies.last.extra, 2u);
  const auto answer = protocol::decode_view_answer(replies.bytes);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer.value().view, view(id));
  EXPECT_EQ(answer.value().sights.size(), kNodes);
  wait(2);
  cluster_.run_until([&] { return replies.parked == 0; }, 120'000);
  EXPECT_EQ(replies.last.extra, 2u);
  send(id, protocol::RequestKind::ViewGet, std::vector<std::byte>(3));
  EXPECT_EQ(replies.error(), ErrorCode::PayloadMalformed);
  protocol::RequestSlot flagged;
  flagged.kind = protocol::RequestKind::ViewGet;
  flagged.flags = 1;
  around_[id].members->on_request(protocol::ConnectionId{1}, flagged, {});
  EXPECT_EQ(replies.error(), ErrorCode::SlotInvalid);
}

}  // namespace
}  // namespace gcoord::server
