// Batches of locks: in which frames they leave, what comes back for each name, and what is refused.
#include "client/locks/lock_batch.h"

#include "gcoord/lock_batch.h"
#include "tests/client/client_fixture.h"

#include <algorithm>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>

namespace gcoord::client {
namespace {

using namespace std::chrono_literals;
using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::uint32_t detail(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

class LockBatchTest : public ClientTest {
 protected:
  static std::vector<std::string> names_of(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t index = 0; index < count; ++index) {
      names.push_back("batch/" + std::to_string(index));
    }
    return names;
  }

  // Shards by turns have nodes 2 and 3 as their leaders, which node 1 says.
  void lead_by_two() {
    cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
      const NodeId leader{2 + request.slot.shard % 2};
      const bool of_shard = request.slot.kind == RequestKind::LockAcquire ||
                            request.slot.kind == RequestKind::LockRelease;
      return of_shard && request.node != leader ? error_reply(request, ErrorCode::NotLeader, leader)
                                                : friendly_reply(request);
    });
  }

  // Of the requests from `first` on: by node, in which frames they came.
  std::map<std::uint32_t, std::set<std::uint32_t>> frames(RequestKind kind, std::size_t first) {
    std::map<std::uint32_t, std::set<std::uint32_t>> by_node;
    const auto all = cluster_.requests(kind);
    for (std::size_t index = first; index < all.size(); ++index) {
      by_node[all[index].node.value].insert(all[index].flight);
    }
    return by_node;
  }
};

TEST_F(LockBatchTest, LeavesInOneFrameForEachNodeThatLeads) {
  lead_by_two();
  Client client = connect();
  Session session = open(client);
  const auto names = names_of(64);
  auto first = session.acquire_many(names);  // Which finds out who leads.
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  const std::size_t before = cluster_.requests(RequestKind::LockAcquire).size();
  const std::uint64_t frames_before = client.statistics().frames;
  const auto again = session.acquire_many(names);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(client.statistics().frames - frames_before, 2u);
  const auto acquires = frames(RequestKind::LockAcquire, before);
  ASSERT_EQ(acquires.size(), 2u);
  EXPECT_EQ(acquires.at(2).size(), 1u);
  EXPECT_EQ(acquires.at(3).size(), 1u);
  auto locks = granted(std::move(first).value());
  ASSERT_EQ(locks.size(), 64u);
  const auto released = Session::release_many(locks);
  ASSERT_TRUE(released.ok());
  EXPECT_EQ(client.statistics().frames - frames_before, 4u);
  EXPECT_EQ(frames(RequestKind::LockRelease, 0).at(2).size(), 1u);
  EXPECT_FALSE(locks.front().valid());
}

TEST_F(LockBatchTest, EachNameHasItsResult) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    const bool taken = request.payload == "batch/1";
    if (taken && request.slot.kind == RequestKind::LockAcquire) {
      return error_reply(request, ErrorCode::LockBusy);
    }
    if (taken && request.slot.kind == RequestKind::LockRelease) {
      return error_reply(request, ErrorCode::LockNotHeld);
    }
    return friendly_reply(request);
  });
  Client client = connect();
  Session session = open(client);
  auto outcomes = session.acquire_many(names_of(3));
  ASSERT_TRUE(outcomes.ok()) << outcomes.status().to_string();
  ASSERT_EQ(outcomes.value().size(), 3u);
  EXPECT_EQ(outcomes.value()[0].value().name(), "batch/0");
  EXPECT_EQ(outcomes.value()[1].status().detail(), kDetailLockBusy);
  EXPECT_EQ(outcomes.value()[2].value().fence(), 7u);
  const auto acquires = cluster_.requests(RequestKind::LockAcquire);
  ASSERT_EQ(acquires.size(), 3u);
  EXPECT_FALSE(acquires[0].slot.has(protocol::RequestFlag::Wait)) << "the default waits for none";
  const auto released =
      session.release_many(std::vector<HeldToken>{{"batch/0", 7}, {"batch/1", 7}, {"batch/2", 7}});
  ASSERT_TRUE(released.ok());
  EXPECT_TRUE(released.value()[0].ok());
  EXPECT_EQ(released.value()[1].detail(), kDetailLockNotHeld);
  EXPECT_TRUE(released.value()[2].ok());
  EXPECT_FALSE(outcomes.value()[0].value().valid());
}

TEST_F(LockBatchTest, EveryCommandKeepsItsNumberWhenItIsSentAgain) {
  std::atomic<bool> lost{false};
  cluster_.answer_with([&](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    // The node has taken a part of the batch when the connection goes.
    reply.hang_up = request.payload == "batch/40" && !lost.exchange(true);
    return reply;
  });
  Client client = connect();
  Session session = open(client);
  const auto outcomes = session.acquire_many(names_of(64));
  ASSERT_TRUE(outcomes.ok());
  EXPECT_TRUE(std::ranges::all_of(outcomes.value(), [](const auto& each) { return each.ok(); }));
  std::map<std::string, std::set<std::uint64_t>> numbers;
  std::set<std::tuple<std::uint32_t, std::uint64_t>> used;
  for (const FakeRequest& request : cluster_.requests(RequestKind::LockAcquire)) {
    numbers[request.payload].insert(request.slot.sequence);
    used.emplace(request.slot.shard, request.slot.sequence);
  }
  ASSERT_EQ(numbers.size(), 64u);
  EXPECT_EQ(used.size(), 64u) << "none has the number of another";
  EXPECT_TRUE(
      std::ranges::all_of(numbers, [](const auto& each) { return each.second.size() == 1; }));
  EXPECT_GT(cluster_.requests(RequestKind::LockAcquire).size(), 64u);
}

TEST_F(LockBatchTest, WhatOneShardDoesNotTakeYetLeavesWithTheFirstAnswers) {
  FakeCluster single{1, 1};
  ClientOptions how = options();
  how.endpoints = single.endpoints();
  auto client = Client::connect(how);
  ASSERT_TRUE(client.ok());
  Session session = open(client.value());
  const auto outcomes = session.acquire_many(names_of(64));
  ASSERT_TRUE(outcomes.ok());
  std::set<std::uint32_t> flights;
  for (const FakeRequest& request : single.requests(RequestKind::LockAcquire)) {
    flights.insert(request.flight);
  }
  EXPECT_EQ(flights.size(), 2u) << "32 and 32";
}

TEST_F(LockBatchTest, ABadListSendsNothing) {
  Client client = connect();
  Session session = open(client);
  EXPECT_EQ(session.acquire_many({}).status().detail(), detail(ErrorCode::LockBatchEmpty));
  EXPECT_EQ(session.acquire_many({"a", "b", "a"}).status().detail(),
            detail(ErrorCode::LockBatchNameTwice));
  EXPECT_EQ(session.acquire_many(names_of(kLockBatchNamesMax + 1)).status().detail(),
            detail(ErrorCode::LockBatchTooLarge));
  const Status bad = session.acquire_many({"a", ""}).status();
  EXPECT_EQ(bad.detail(), detail(ErrorCode::NameEmpty));
  EXPECT_NE(bad.message().find("name 2 of the batch"), std::string::npos) << bad.message();
  EXPECT_EQ(session.acquire_many({"a", std::string(1025, 'x')}).status().detail(),
            detail(ErrorCode::NameTooLong));
  EXPECT_EQ(session.acquire_many({"a"}, {.delay = 2h}).status().detail(),
            detail(ErrorCode::DelayTooLong));
  EXPECT_EQ(session.release_many(std::vector<HeldToken>{}).status().detail(),
            detail(ErrorCode::LockBatchEmpty));
  EXPECT_EQ(session.release_many(std::vector<HeldToken>{{"a", 0}}).status().detail(),
            detail(ErrorCode::TokenZero));
  std::vector<Lock> none;
  EXPECT_EQ(Session::release_many(none).status().detail(), detail(ErrorCode::LockBatchEmpty));
  none.emplace_back();
  EXPECT_EQ(Session::release_many(none).status().detail(), detail(ErrorCode::LockBatchForeign));
  EXPECT_TRUE(cluster_.requests(RequestKind::LockAcquire).empty());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
}

TEST_F(LockBatchTest, LocksOfTwoSessionsAreNoBatch) {
  Client client = connect();
  Session one = open(client);
  Session other = open(client);
  std::vector<Lock> locks;
  locks.push_back(one.try_acquire("a").value());
  locks.push_back(other.try_acquire("b").value());
  EXPECT_EQ(Session::release_many(locks).status().detail(), detail(ErrorCode::LockBatchForeign));
  EXPECT_TRUE(locks[0].valid());
  EXPECT_TRUE(cluster_.requests(RequestKind::LockRelease).empty());
  const auto refused = Session::release_many_async(std::move(locks)).get();
  EXPECT_EQ(refused.status().detail(), detail(ErrorCode::LockBatchForeign));
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 2).size(), 2u) << "as objects that go";
  EXPECT_EQ(Session::release_many_async(std::vector<Lock>{}).get().status().detail(),
            detail(ErrorCode::LockBatchEmpty));
}

TEST_F(LockBatchTest, LocksThatAFutureTakesOverHoldNothingAtOnce) {
  Client client = connect();
  Session session = open(client);
  auto locks = granted(session.acquire_many(names_of(3)).value());
  auto released = Session::release_many_async(std::move(locks)).get();
  ASSERT_TRUE(released.ok());
  EXPECT_TRUE(std::ranges::all_of(released.value(), [](const Status& each) { return each.ok(); }));
  EXPECT_EQ(cluster_.requests(RequestKind::LockRelease).size(), 3u) << "once each";
}

TEST_F(LockBatchTest, TheSlowestNameEndsByItsDeadline) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.payload == "batch/1" ? std::nullopt : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client, {.ttl = 60s});
  auto pending = session.acquire_many_async(names_of(3));
  cluster_.wait_for(RequestKind::LockAcquire, 3);
  EXPECT_FALSE(pending.ready());
  advance_until(client, 100ms, [&](const auto&) { return pending.ready(); });
  const auto outcomes = std::move(pending).get();
  ASSERT_TRUE(outcomes.ok());
  EXPECT_TRUE(outcomes.value()[0].ok());
  EXPECT_EQ(outcomes.value()[1].status().detail(), kDetailDeadlineExceeded);
  EXPECT_TRUE(outcomes.value()[2].ok());
}

TEST_F(LockBatchTest, AStopEndsEveryWait) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    return request.slot.kind == RequestKind::LockAcquire ? std::nullopt
                                                         : std::optional{friendly_reply(request)};
  });
  Client client = connect();
  Session session = open(client);
  std::stop_source stop;
  const std::stop_token token = stop.get_token();
  auto pending = session.acquire_many_async(names_of(3), {.wait = kForever, .stop = &token});
  cluster_.wait_for(RequestKind::LockAcquire, 3);
  EXPECT_FALSE(pending.ready());
  stop.request_stop();
  const auto outcomes = std::move(pending).get();
  ASSERT_TRUE(outcomes.ok());
  for (const auto& outcome : outcomes.value()) {
    EXPECT_EQ(outcome.status().detail(), kDetailWaitCancelled);
  }
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockCancel, 3).size(), 3u);
}

TEST_F(LockBatchTest, ADroppedFutureLeavesNothingHeld) {
  Client client = connect();
  Session session = open(client);
  static_cast<void>(session.acquire_many_async(names_of(4)));
  EXPECT_EQ(cluster_.wait_for(RequestKind::LockRelease, 4).size(), 4u);
}

TEST_F(LockBatchTest, CallbacksComeOnceAndFromACallbackNothingBlocks) {
  Client client = connect();
  Session session = open(client);
  Collected<std::uint32_t> seen;
  session.acquire_many_async(names_of(2), {.wait = 0ms}, [&](const auto& grants) {
    seen.add(grants.ok() ? 0u : grants.status().detail());
    seen.add(session.acquire_many({"x"}).status().detail());
    seen.add(session.renew_until().status().detail());
    session.release_many_async(std::vector<HeldToken>{{"batch/0", 7}, {"batch/1", 7}},
                               [&](const auto& released) { seen.add(released.ok() ? 1u : 2u); });
  });
  const std::uint32_t blocked = detail(ErrorCode::BlockedCallback);
  EXPECT_EQ(seen.wait_for(4), (std::vector<std::uint32_t>{0, blocked, blocked, 1}));
}

TEST_F(LockBatchTest, AClosedClientAnswersForEachName) {
  std::optional<Client> client{connect()};
  Session session = open(*client);
  ASSERT_TRUE(client->close().ok());
  const auto outcomes = session.acquire_many(names_of(2));
  ASSERT_TRUE(outcomes.ok());
  EXPECT_EQ(outcomes.value()[0].status().detail(), detail(ErrorCode::ClientClosed));
  EXPECT_EQ(outcomes.value()[1].status().detail(), detail(ErrorCode::ClientClosed));
}

TEST_F(LockBatchTest, ARenewalSaysUntilWhenTheLocksAreCertain) {
  Client client = connect();
  Session session = open(client, {.ttl = 10s});
  const auto first = session.certain_until();
  clock_->advance(1s);
  const auto renewed = session.renew_until();
  ASSERT_TRUE(renewed.ok()) << renewed.status().to_string();
  EXPECT_EQ(renewed.value(), first + 1s);
  EXPECT_EQ(renewed.value(), session.certain_until());
}

}  // namespace
}  // namespace gcoord::client
