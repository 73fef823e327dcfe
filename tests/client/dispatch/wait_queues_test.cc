// Many waits for one lock, whose shard loses its leader or finds its node too busy.
#include "client/dispatch/wait_queues.h"

#include "protocol/lock_messages.h"
#include "tests/client/client_fixture.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint32_t kShards = 16;     // As FakeCluster has them.
constexpr std::uint32_t kOfSession = 30;  // Waits that a session may have in one shard.
constexpr std::uint32_t kBatches = 2 * std::uint32_t{kLineBatch} + 100;

class WaitLinesTest : public ClientTest {
 protected:
  // A clock that a test moves is faster than answers: nobody is silent for so long.
  WaitLinesTest() { request_timeout_ = 24h; }

  // Spent at once; then a retry rests for a day.
  ClientOptions small_budget() const {
    ClientOptions changed = options();
    changed.retry_budget = 40;
    changed.backoff_max = 24h;
    return changed;
  }

  // Node 0: there is no leader. A wait that the leader takes is never answered.
  std::optional<FakeReply> answer(const FakeRequest& request) {
    const NodeId leader{leader_.load()};
    switch (request.slot.kind) {
      case RequestKind::OpenSession: {
        FakeReply reply = friendly_reply(request);
        reply.slot.extra = ++sessions_opened_;
        return reply;
      }
      case RequestKind::LeaderMap: {
        FakeReply reply = ok_reply(request);
        reply.payload = protocol::text_of(
            protocol::encode_leader_map({ShardId{0}, std::vector<NodeId>(kShards, leader)}));
        return reply;
      }
      case RequestKind::LockAcquire:
      case RequestKind::LockCheck:
        return answer_at(request, leader);
      default:
        return friendly_reply(request);
    }
  }

  std::optional<FakeReply> answer_at(const FakeRequest& request, NodeId leader) {
    if (leader == NodeId{}) {
      return error_reply(request, ErrorCode::NoLeader);
    }
    if (request.node != leader) {
      return error_reply(request, ErrorCode::NotLeader, leader);
    }
    if (request.slot.kind == RequestKind::LockCheck) {
      return friendly_reply(request);
    }
    if (busy_) {
      return error_reply(request, ErrorCode::Overloaded);
    }
    ++waiting_;
    return std::nullopt;
  }

  Client connect_with(const ClientOptions& changed) {
    cluster_.answer_with([this](const FakeRequest& request) { return answer(request); });
    auto client = Client::connect(changed);
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    EXPECT_TRUE(client.value().wait_for_all_nodes(1s).ok());
    return std::move(client).value();
  }

  // For one name, by as many sessions as that takes.
  void wait_for_lock(Client& client, std::uint32_t waits) {
    for (std::uint32_t i = 0; i < waits; ++i) {
      if (i % kOfSession == 0) {
        sessions_.push_back(open(client, {.ttl = 24h}));
      }
      sessions_.back().acquire_async("name", {}, [](const Result<Grant>&) {});
    }
  }

  // How often a request of the kind was sent to any node.
  std::size_t sent(RequestKind kind) const { return cluster_.requests(kind).size(); }

  std::atomic<std::uint32_t> leader_{1};
  std::atomic<bool> busy_{false};
  std::atomic<std::uint32_t> waiting_{0};  // Acquires that a leader took and left unanswered.
  std::uint64_t sessions_opened_ = 1000;   // Of the cluster's thread.
  std::vector<Session> sessions_;
};

// The client took the acquires themselves for probes. A wait brings no answer, so the node came
// back for one of them after each longest pause, until a keep-alive happened to be answered.
TEST_F(WaitLinesTest, Row73AWaitIsNoProbeOfANodeThatWasTooBusy) {
  constexpr std::uint32_t kWaits = 200;
  busy_ = true;
  ClientOptions changed = options();
  changed.breaker_failures = 1;
  changed.backoff_max = 24h;
  Client client = connect_with(changed);
  wait_for_lock(client, kWaits);
  settle_until(client, [](const ClientStatistics& s) { return s.retries >= kWaits; });
  EXPECT_NE(client.cluster().nodes[0].breaker, BreakerState::Closed);
  busy_ = false;
  advance_until(client, 1ms, [&](const auto&) { return waiting_ == kWaits; });
  EXPECT_EQ(client.cluster().nodes[0].breaker, BreakerState::Closed);
}

TEST_F(WaitLinesTest, Row74AShardWithoutALeaderIsAskedForOnceForAllWhoWait) {
  constexpr std::uint32_t kWaits = 600;
  leader_ = 0;
  Client client = connect_with(small_budget());
  wait_for_lock(client, kWaits);
  settle_until(client, [](const ClientStatistics& s) { return s.retries >= kWaits; });
  const std::size_t questions = sent(RequestKind::LeaderMap);
  advance_until(
      client, 10ms, [&](const auto&) { return sent(RequestKind::LeaderMap) >= questions + 8; });
  EXPECT_EQ(sent(RequestKind::LockAcquire), kWaits) << "nobody asks for itself";
  leader_ = 2;
  advance_until(client, 10ms, [&](const auto&) { return waiting_ == kWaits; });
  EXPECT_EQ(sent(RequestKind::LockAcquire), 2 * kWaits);
}

// With the budget spent a retry rests for the longest pause: here for a day.
TEST_F(WaitLinesTest, Row74WaitsLeaveTheRetryBudgetToOthers) {
  constexpr std::uint32_t kWaits = 600;
  leader_ = 0;
  Client client = connect_with(small_budget());
  wait_for_lock(client, kWaits);
  settle_until(client, [](const ClientStatistics& s) { return s.retries >= kWaits; });
  Collected<Result<Verdict>> verdicts;
  client.check_async("name", 1, [&](Result<Verdict> verdict) { verdicts.add(verdict); });
  settle_until(client, [](const ClientStatistics& s) { return s.retries > kWaits; });
  leader_ = 3;
  clock_->advance(10ms);  // Twice the first pause.
  EXPECT_TRUE(verdicts.wait_for(1)[0].ok());
}

TEST_F(WaitLinesTest, Row74ALineGoesOnWhenTheNodeHasTakenTheBatchBefore) {
  leader_ = 0;
  Client client = connect_with(options());
  wait_for_lock(client, kBatches);
  settle_until(client, [](const ClientStatistics& s) { return s.retries >= kBatches; });
  std::atomic<std::uint32_t> unanswered{0};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    if (request.slot.kind == RequestKind::LeaderMap && waiting_ > 0) {
      ++unanswered;
      return std::nullopt;
    }
    return answer(request);
  });
  leader_ = 1;
  advance_until(client, 10ms, [&](const auto&) { return unanswered == 1; });
  for (int step = 0; step < 100; ++step) {
    clock_->advance(10ms);
    static_cast<void>(client.statistics());
  }
  EXPECT_EQ(waiting_, kLineBatch);
  EXPECT_EQ(unanswered, 1u);
}

// The clock stands still from the first batch on: only answers make the line go on.
TEST_F(WaitLinesTest, Row74ALineRestsNoMoreOnceTheLeaderIsThere) {
  leader_ = 0;
  Client client = connect_with(options());
  wait_for_lock(client, kBatches);
  settle_until(client, [](const ClientStatistics& s) { return s.retries >= kBatches; });
  const std::size_t before = sent(RequestKind::LockAcquire);
  leader_ = 1;
  advance_until(client, 10ms, [&](const auto&) { return waiting_ > 0; });
  settle_until(client, [&](const auto&) { return waiting_ == kBatches; });
  EXPECT_EQ(sent(RequestKind::LockAcquire), before + kBatches);
}

TEST_F(WaitLinesTest, WaitsThatEndInLineLeaveNothingBehind) {
  constexpr std::uint32_t kWaits = 300;
  leader_ = 0;
  Collected<Status> ended;
  request_timeout_ = 5s;
  Client client = connect_with(options());
  Session session = open(client, {.ttl = 24h});
  for (std::uint32_t i = 0; i < kOfSession; ++i) {
    session.acquire_async(
        "name", {.wait = 1s}, [&](const Result<Grant>& grant) { ended.add(grant.status()); });
  }
  wait_for_lock(client, kWaits);
  settle_until(client, [](const ClientStatistics& s) { return s.retries >= kWaits + kOfSession; });
  advance_until(client, 10ms, [&](const auto&) { return ended.count() == kOfSession; });
  leader_ = 1;
  advance_until(client, 10ms, [&](const auto&) { return waiting_ == kWaits; });
}

}  // namespace
}  // namespace gcoord::client
