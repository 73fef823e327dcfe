// The breaker of an endpoint: its three states, and where requests go meanwhile.
#include "client/net/circuit_breaker.h"

#include "tests/client/client_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace gcoord::client {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr TimePoint kStart = 1h;

CircuitBreaker breaker_of(std::uint32_t failures) {
  return CircuitBreaker{{.failures = failures, .pause_min = 8ms, .pause_max = 100ms, .seed = 1}};
}

TEST(CircuitBreaker, Row73OpensAfterFailuresInARowAlone) {
  CircuitBreaker breaker = breaker_of(3);
  for (int round = 0; round < 10; ++round) {
    breaker.on_failure(kStart);
    breaker.on_failure(kStart);
    EXPECT_FALSE(breaker.on_success()) << "it was not open";
    EXPECT_EQ(breaker.state(), BreakerState::Closed);
  }
  breaker.on_failure(kStart);
  breaker.on_failure(kStart);
  EXPECT_TRUE(breaker.admits(kStart));
  breaker.on_failure(kStart);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
  EXPECT_FALSE(breaker.admits(kStart));
}

TEST(CircuitBreaker, Row73LetsOneProbeThroughAfterAJitteredPause) {
  CircuitBreaker breaker = breaker_of(1);
  breaker.on_failure(kStart);
  const TimePoint due = breaker.next_probe();
  EXPECT_GE(due, kStart + 4ms);
  EXPECT_LE(due, kStart + 8ms);
  EXPECT_FALSE(breaker.admits(due - TimePoint{1}));
  ASSERT_TRUE(breaker.admits(due));
  breaker.on_request(due);
  EXPECT_EQ(breaker.state(), BreakerState::HalfOpen);
  EXPECT_FALSE(breaker.admits(due)) << "one probe, not two";
  EXPECT_TRUE(breaker.on_success());
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
  EXPECT_TRUE(breaker.admits(due));
}

TEST(CircuitBreaker, Row73AProbeThatFailsDoublesThePauseUpToTheLongest) {
  CircuitBreaker breaker = breaker_of(1);
  TimePoint now = kStart;
  breaker.on_failure(now);
  for (const TimePoint full : {TimePoint{8ms},
                               TimePoint{16ms},
                               TimePoint{32ms},
                               TimePoint{64ms},
                               TimePoint{100ms},
                               TimePoint{100ms}}) {
    EXPECT_GE(breaker.next_probe() - now, full / 2);
    EXPECT_LE(breaker.next_probe() - now, full);
    now = breaker.next_probe();
    breaker.on_request(now);
    breaker.on_failure(now);
    EXPECT_EQ(breaker.state(), BreakerState::Open);
  }
  now = breaker.next_probe();
  breaker.on_request(now);
  breaker.on_success();
  breaker.on_failure(now);
  EXPECT_LE(breaker.next_probe() - now, TimePoint{8ms}) << "from the shortest pause again";
}

TEST(CircuitBreaker, Row73AProbeWithoutAnAnswerIsFollowedByAnother) {
  CircuitBreaker breaker = breaker_of(1);
  breaker.on_failure(kStart);
  const TimePoint due = breaker.next_probe();
  breaker.on_request(due);
  EXPECT_FALSE(breaker.admits(due + TimePoint{99ms}));
  EXPECT_TRUE(breaker.admits(due + TimePoint{100ms}));
}

TEST(CircuitBreaker, Row73WhatComesBackWhileItIsOpenSaysNothing) {
  CircuitBreaker breaker = breaker_of(1);
  breaker.on_failure(kStart);
  const TimePoint due = breaker.next_probe();
  breaker.on_request(kStart);
  EXPECT_FALSE(breaker.on_success());
  breaker.on_failure(kStart);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
  EXPECT_EQ(breaker.next_probe(), due);
}

TEST(CircuitBreaker, Row73WithoutAThresholdItOpensWhenItIsTrippedAlone) {
  CircuitBreaker breaker = breaker_of(0);
  for (int failure = 0; failure < 1000; ++failure) {
    breaker.on_failure(kStart);
  }
  EXPECT_EQ(breaker.state(), BreakerState::Closed);
  breaker.trip(kStart);
  EXPECT_EQ(breaker.state(), BreakerState::Open);
}

class Breaker : public ClientTest {
 protected:
  static BreakerState state_of(Client& client, std::uint32_t node) {
    return client.cluster().nodes[node - 1].breaker;
  }

  void stop_all_nodes(Client& client) {
    for (const std::uint32_t node : {1u, 2u, 3u}) {
      cluster_.stop_node(NodeId{node});
    }
    settle_until(client, [](const ClientStatistics& s) { return s.reconnects == 3; });
  }

  static void check_names(Client& client, int count, Collected<Status>& ended) {
    for (int k = 0; k < count; ++k) {
      client.check_async("name" + std::to_string(k), 1, [&](const Result<Verdict>& verdict) {
        ended.add(verdict.status());
      });
    }
  }

  // For what several round trips decide: a clock that a test moves is faster than they are.
  ClientOptions on_machine_clock() const {
    ClientOptions changed = options();
    changed.clock = boot_clock();
    changed.request_timeout = 60s;
    return changed;
  }

  Client connect_with(const ClientOptions& changed) {
    auto client = Client::connect(changed);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    EXPECT_TRUE(client.value().wait_for_all_nodes(1s).ok());
    return std::move(client).value();
  }
};

// The clock stands still, so nobody can have waited for a timeout.
TEST_F(Breaker, Row73RequestsGoElsewhereAtOnceWhileANodeIsDown) {
  Client client = connect();
  EXPECT_EQ(state_of(client, 2), BreakerState::Closed);
  cluster_.stop_node(NodeId{2});
  settle_until(client, [](const ClientStatistics& s) { return s.reconnects == 1; });
  EXPECT_NE(state_of(client, 2), BreakerState::Closed);
  for (int k = 0; k < 20; ++k) {
    EXPECT_TRUE(client.check("name" + std::to_string(k), 1).ok());
  }
  for (const FakeRequest& request : cluster_.requests(RequestKind::LockCheck)) {
    EXPECT_NE(request.node, NodeId{2});
  }
  cluster_.start_node(NodeId{2});
  advance_until(
      client, 10ms, [&](const auto&) { return state_of(client, 2) == BreakerState::Closed; });
}

TEST_F(Breaker, Row73ANodeThatIsTooBusyIsLeftAloneAndProbed) {
  std::atomic<bool> busy{true};
  std::atomic<bool> leads{true};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (busy && request.node == NodeId{1}) {
      return error_reply(request, ErrorCode::Overloaded);
    }
    return leads ? error_reply(request, ErrorCode::NotLeader, NodeId{1}) : friendly_reply(request);
  });
  Collected<Status> ended;
  Collected<Status> later;
  ClientOptions three = on_machine_clock();
  three.breaker_failures = 3;
  Client client = connect_with(three);
  check_names(client, 200, ended);
  settle_until(client, [&](const auto&) { return state_of(client, 1) != BreakerState::Closed; });
  leads = false;
  for (const Status& status : ended.wait_for(200)) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  EXPECT_NE(state_of(client, 1), BreakerState::Closed);
  const std::size_t before = cluster_.requests(RequestKind::LockCheck).size();
  check_names(client, 200, later);
  for (const Status& status : later.wait_for(200)) {
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  const std::size_t asked = cluster_.requests(RequestKind::LockCheck).size() - before;
  EXPECT_LT(asked, 300u) << "it is not asked by each of them";
  busy = false;
  // Who asks a node by name is not held back, and is the probe when one is due.
  settle_until(client, [&](const auto&) {
    EXPECT_TRUE(client.node_status(1).ok());
    return state_of(client, 1) == BreakerState::Closed;
  });
}

TEST_F(Breaker, Row73AnAnswerThatSaysWhatIsTrueIsNoFailure) {
  cluster_.answer_with(
      [&](const FakeRequest& request) { return error_reply(request, ErrorCode::LockNotHeld); });
  ClientOptions one = options();
  one.breaker_failures = 1;
  Client client = connect_with(one);
  for (int k = 0; k < 20; ++k) {
    EXPECT_FALSE(client.check("name" + std::to_string(k), 1).ok());
  }
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    EXPECT_EQ(state_of(client, node), BreakerState::Closed);
  }
}

TEST_F(Breaker, Row73WhoIsHeldBackByAllIsToldWhy) {
  cluster_.answer_with(
      [&](const FakeRequest& request) { return error_reply(request, ErrorCode::Overloaded); });
  Collected<Status> first;
  Collected<Status> ended;
  ClientOptions one = options();
  one.breaker_failures = 1;
  one.fail_fast = true;
  Client client = connect_with(one);
  check_names(client, 20, first);
  settle_until(client, [&](const auto&) {
    return std::ranges::all_of(std::array{1u, 2u, 3u}, [&](std::uint32_t node) {
      return state_of(client, node) == BreakerState::Open;
    });
  });
  // The clock stands still: no probe is due.
  check_names(client, 20, ended);
  for (const Status& status : ended.wait_for(20)) {
    EXPECT_EQ(status.detail(), kDetailCircuitOpen);
    EXPECT_THAT(status.message(), HasSubstr("the node has too many requests"));
  }
}

TEST_F(Breaker, Row73FailsFastWhenAllAreOpenAndTheCallerWantsThat) {
  ClientOptions fast = options();
  fast.fail_fast = true;
  Client client = connect_with(fast);
  stop_all_nodes(client);
  const Status status = client.check("name", 1).status();
  EXPECT_EQ(status.detail(), kDetailCircuitOpen);
  EXPECT_THAT(status.message(), HasSubstr(cluster_.endpoints()[0]));
}

TEST_F(Breaker, Row73OtherwiseARequestWaitsForTheProbeThatSucceeds) {
  Collected<Status> ended;
  Client client = connect_with(on_machine_clock());
  stop_all_nodes(client);
  check_names(client, 1, ended);
  EXPECT_NE(state_of(client, 3), BreakerState::Closed);
  EXPECT_EQ(ended.count(), 0u);
  cluster_.start_node(NodeId{3});
  EXPECT_TRUE(ended.wait_for(1)[0].ok());
}

TEST_F(Breaker, Row73AnAcquireThatWaitsDoesNotFailFast) {
  ClientOptions fast = on_machine_clock();
  fast.fail_fast = true;
  Client client = connect_with(fast);
  Session session = open(client, {.ttl = 60s});
  stop_all_nodes(client);
  auto coming = session.acquire_async("name");
  cluster_.start_node(NodeId{1});
  EXPECT_TRUE(coming.get().ok());
}

}  // namespace
}  // namespace gcoord::client
