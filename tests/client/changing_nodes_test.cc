// A client whose cluster's nodes come and go: whom it asks, and by whose majority it counts.
#include "gcoord/client.h"
#include "protocol/members/view_messages.h"
#include "protocol/session_messages.h"
#include "tests/client/client_fixture.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::Member;
using protocol::MemberState;
using protocol::RequestKind;

// Seven nodes that can be, of which the first three are the cluster at first, by view 2.
class ChangingNodes : public testing::Test {
 protected:
  void SetUp() override {
    cluster_.answer_with([this](const FakeRequest& request) { return answer(request); });
    view(2, {1, 2, 3}, 2);
    for (std::uint32_t node = 1; node <= 3; ++node) {
      says(node, 2);
    }
  }

  std::optional<FakeReply> answer(const FakeRequest& request) {
    const std::lock_guard lock{mutex_};
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == RequestKind::KeepAlive) {
      reply.slot.extra = epochs_[request.node.value];
      return silent_.contains(request.node.value) ? std::nullopt : std::optional{reply};
    }
    if (request.slot.kind == RequestKind::ViewGet) {
      reply.payload = protocol::text_of(protocol::encode_view_answer(answer_));
      return views_hidden_ ? std::nullopt : std::optional{reply};
    }
    return reply;
  }

  // What nodes answer that are asked for the view, and say in Welcomes.
  void view(std::uint64_t epoch,
            const std::set<std::uint32_t>& voters,
            std::uint64_t settled,
            const std::vector<std::vector<NodeId>>& earlier = {}) {
    const auto endpoints = cluster_.endpoints();
    std::vector<NodeId> named;
    const std::lock_guard lock{mutex_};
    answer_ = {};
    answer_.view.epoch = answer_.newest = epoch;
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      ever_ = std::max(ever_, voters.contains(id) ? id : 0u);
    }
    for (std::uint32_t id = 1; id <= ever_; ++id) {
      Member node;
      node.id = NodeId{id};
      node.name = protocol::default_member_name(node.id);
      node.client_address = endpoints[id - 1];
      node.state = voters.contains(id) ? MemberState::Active : MemberState::Removed;
      if (voters.contains(id)) {
        named.push_back(node.id);
      }
      answer_.view.nodes.push_back(node);
    }
    answer_.settled = settled;
    answer_.earlier_voters = earlier;
    cluster_.name_in_welcomes(named, epoch);
  }

  void says(std::uint32_t node, std::uint64_t epoch) {
    const std::lock_guard lock{mutex_};
    epochs_[node] = epoch;
  }

  void keep_silent(std::set<std::uint32_t> nodes) {
    const std::lock_guard lock{mutex_};
    silent_ = std::move(nodes);
  }

  void hide_views(bool hidden) {
    const std::lock_guard lock{mutex_};
    views_hidden_ = hidden;
  }

  Client connect() {
    ClientOptions options;
    const auto endpoints = cluster_.endpoints();
    options.endpoints.assign(endpoints.begin(), endpoints.begin() + 3);
    options.clock = clock_;
    options.seed = 1;
    options.request_timeout = request_timeout_;
    auto client = Client::connect(options);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    Client connected = std::move(client).value();
    EXPECT_TRUE(connected.wait_for_all_nodes(60s).ok());
    return connected;
  }

  static Session open(Client& client) {
    auto session = client.open_session({.ttl = 9s});
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return std::move(session).value();
  }

  // Moves the clock in small steps until it is so.
  template <typename Done>
  bool comes(Done done, int rounds = 2000) {
    for (int round = 0; round < rounds; ++round) {
      if (done()) {
        return true;
      }
      clock_->advance(2ms);
      const auto next = std::chrono::steady_clock::now() + 1ms;
      while (std::chrono::steady_clock::now() < next) {
        std::this_thread::yield();
      }
    }
    return false;
  }

  std::size_t keep_alives() const { return cluster_.requests(RequestKind::KeepAlive).size(); }

  // Whether a keep-alive renews the session.
  bool renews(const Session& session) {
    const auto before = session.certain_until();
    clock_->advance(3s);
    return comes([&] { return session.certain_until() > before; });
  }

  // Whether a round of keep-alives does not, with time for what its answers cause.
  bool renews_not(const Session& session) {
    const auto before = session.certain_until();
    const std::size_t sent = keep_alives();
    clock_->advance(3s);
    const bool arrived = comes([&] { return keep_alives() >= sent + 3; });
    return arrived && !comes([&] { return session.certain_until() > before; }, 200);
  }

  static constexpr std::uint32_t kNodes = 7;

  std::chrono::milliseconds request_timeout_ = 60s;  // So that silent nodes are not given up.
  FakeCluster cluster_{kNodes};
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::mutex mutex_;
  protocol::ViewAnswer answer_;
  std::map<std::uint32_t, std::uint64_t> epochs_;
  std::set<std::uint32_t> silent_;
  bool views_hidden_ = false;
  std::uint32_t ever_ = 0;
};

std::vector<NodeId> ids(const std::set<std::uint32_t>& values) {
  std::vector<NodeId> result;
  for (const std::uint32_t value : values) {
    result.push_back(NodeId{value});
  }
  return result;
}

TEST_F(ChangingNodes, ASessionIsRenewedByAMajorityOfTheView) {
  keep_silent({2});
  Client client = connect();
  const Session session = open(client);
  EXPECT_TRUE(renews(session));
  keep_silent({2, 3});
  EXPECT_TRUE(renews_not(session));
}

TEST_F(ChangingNodes, NodesThatCameAreConnectedToAndCount) {
  Client client = connect();
  const Session session = open(client);
  view(3, {1, 2, 3, 4, 5}, 3);
  for (std::uint32_t node = 1; node <= 5; ++node) {
    says(node, 3);
  }
  keep_silent({2, 3});
  EXPECT_TRUE(renews(session));
  EXPECT_TRUE(comes([&] { return cluster_.is_connected(NodeId{4}); }));
  EXPECT_TRUE(comes([&] { return cluster_.is_connected(NodeId{5}); }));
  keep_silent({1, 2, 3});
  EXPECT_TRUE(renews_not(session)) << "two of five";
}

TEST_F(ChangingNodes, ACountThatWasEnoughIsNotWhenTheClusterGrew) {
  Client client = connect();
  const Session session = open(client);
  view(3, {1, 2, 3, 4, 5}, 3);
  for (std::uint32_t node = 1; node <= 5; ++node) {
    says(node, 3);
  }
  keep_silent({3, 4, 5});
  EXPECT_TRUE(renews_not(session));
}

TEST_F(ChangingNodes, TheEarlierMajorityIsNeededWhileSomebodyMayGoByIt) {
  view(3, {1, 2, 3, 4, 5}, 2, {ids({1, 2, 3})});
  for (std::uint32_t node = 1; node <= 5; ++node) {
    says(node, 3);
  }
  Client client = connect();
  const Session session = open(client);
  keep_silent({1, 2});
  const auto before = session.certain_until();
  EXPECT_TRUE(renews_not(session)) << "one of the three of before";
  EXPECT_EQ(session.certain_until(), before);
}

TEST_F(ChangingNodes, AnEarlierMajorityIsNotNeededOnceANodeSaysThatItIsLeft) {
  view(3, {1, 2, 3, 4, 5}, 2, {ids({1, 2, 3})});
  for (std::uint32_t node = 1; node <= 5; ++node) {
    says(node, 3);
  }
  Client client = connect();
  const Session session = open(client);
  keep_silent({1, 2});
  view(3, {1, 2, 3, 4, 5}, 3);
  EXPECT_TRUE(renews(session));
}

TEST_F(ChangingNodes, WhatIsAcknowledgedUnderANewerViewCountsOnceThatIsKnown) {
  request_timeout_ = 8s;  // A question is put to another node after a quarter of that.
  Client client = connect();
  const Session session = open(client);
  EXPECT_TRUE(renews(session));
  hide_views(true);
  view(3, {1, 2, 3}, 3);
  says(1, 3);
  says(2, 3);
  keep_silent({3});
  EXPECT_TRUE(renews_not(session));
  const std::size_t sent = keep_alives();
  const auto before = session.certain_until();
  hide_views(false);
  EXPECT_TRUE(comes([&] { return session.certain_until() > before; }));
  EXPECT_EQ(keep_alives(), sent) << "without another acknowledgement";
}

TEST_F(ChangingNodes, ANodeThatLostItsViewDoesNotCount) {
  Client client = connect();
  const Session session = open(client);
  keep_silent({3});
  EXPECT_TRUE(renews(session));
  says(2, 0);
  EXPECT_TRUE(renews_not(session));
}

TEST_F(ChangingNodes, AClientGoesOnWhenAllThatItWasConfiguredWithHaveLeft) {
  Client client = connect();
  Session session = open(client);
  view(4, {1, 2, 3, 4, 5, 6}, 4);
  for (std::uint32_t node = 1; node <= 6; ++node) {
    says(node, 4);
  }
  EXPECT_TRUE(renews(session));
  EXPECT_TRUE(comes([&] { return cluster_.is_connected(NodeId{6}); }));
  view(8, {4, 5, 6}, 8);
  for (std::uint32_t node = 1; node <= 6; ++node) {
    says(node, 8);
  }
  EXPECT_TRUE(renews(session));
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    EXPECT_TRUE(comes([&] { return !cluster_.is_connected(NodeId{node}); })) << node;
    cluster_.stop_node(NodeId{node});
  }
  EXPECT_TRUE(session.acquire("name").ok());
  EXPECT_TRUE(renews(session));
  const auto nodes = client.cluster().nodes;
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes.front().node_id, 4u);
  EXPECT_TRUE(client.wait_for_all_nodes(60s).ok());
}

TEST_F(ChangingNodes, AClusterOfAnEarlierReleaseIsNotAskedForItsView) {
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_.deny(NodeId{node}, protocol::Feature::Members);
  }
  Client client = connect();
  const Session session = open(client);
  keep_silent({2});
  EXPECT_TRUE(renews(session));
  EXPECT_TRUE(cluster_.requests(RequestKind::ViewGet).empty());
}

}  // namespace
}  // namespace gcoord::client
