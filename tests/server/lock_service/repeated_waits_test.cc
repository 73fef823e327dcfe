// Waits that are asked for again, here or at another leader.
#include "server/lock_service/lock_service.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

std::uint32_t number(ErrorCode code) {
  return static_cast<std::uint32_t>(code);
}

TEST(RepeatedWaitsTest, RetryOfAWaitIsAnsweredOnItsNewConnection) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  bench.connection = 2;
  const auto retried = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  EXPECT_EQ(bench.service->wait_count(), 1u);
  bench.decided(bench.release(5, 2, "a", held.slot.token));
  const auto granted = bench.sink.take(retried);
  EXPECT_EQ(granted.connection, protocol::ConnectionId{2});
  EXPECT_EQ(granted.slot.code, StatusCode::Ok);
}

// Nothing tells the late copy from a retry. So the newer request is told that it was replaced, and
// its client asks again (LateCopies.AWaitThatAnOldCopyOfItselfReplacedIsAskedForAgain).
TEST(RepeatedWaitsTest, ALateCopyEndsTheNewerBindingWhichMayAskAgain) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  bench.connection = 2;
  const auto newer = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  bench.connection = 1;
  const auto late = bench.acquire(6, 1, "a", protocol::kForeverMs);
  EXPECT_EQ(bench.sink.take(newer).slot.detail, number(ErrorCode::SequenceReused));
  bench.connection = 2;
  const auto again = bench.acquire(6, 1, "a", protocol::kForeverMs);
  EXPECT_EQ(bench.sink.take(late).slot.detail, number(ErrorCode::SequenceReused));
  bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(bench.sink.take(again).connection, protocol::ConnectionId{2});
}

// Else a change of leaders would bring as many entries as there are waiters, beyond what a shard
// takes on at once.
TEST(RepeatedWaitsTest, AWaitThatStandsInLineIsBoundAnewWithoutAnEntry) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  bench.connection = 2;
  const auto retried = bench.acquire(6, 1, "a", protocol::kForeverMs);
  EXPECT_TRUE(bench.engine.proposals.empty());
  EXPECT_EQ(bench.service->wait_count(), 1u);
  bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(bench.sink.take(retried).slot.code, StatusCode::Ok);
  EXPECT_EQ(bench.sink.parked, 0);
}

TEST(RepeatedWaitsTest, OnlyTheVeryRequestThatStandsInLineNeedsNoEntry) {
  LockBench bench;
  bench.lead_all();
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  const auto waiting = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  bench.acquire(6, 2, "a", protocol::kForeverMs);
  bench.acquire(7, 1, "a", protocol::kForeverMs);
  const auto reused = bench.acquire(6, 1, "a");  // Does not wait, under a number that does.
  EXPECT_EQ(bench.engine.proposals.size(), 3u);
  EXPECT_EQ(bench.decided(reused).slot.detail, number(ErrorCode::SequenceReused));
  bench.decided(bench.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(bench.sink.take(waiting).slot.code, StatusCode::Ok);
  bench.acquire(6, 1, "a", protocol::kForeverMs);
  EXPECT_EQ(bench.engine.proposals.size(), 1u) << "it was granted: the log says so again";
}

// A node of the resident turn may lead before its host has the state of the shard. A wait that it
// found in the old one was granted by an entry that the new one covers: nothing tells of it.
TEST(RepeatedWaitsTest, AStateThatIsReplacedEndsItsWaitsSoThatTheyAskAgain) {
  LockBench bench;
  bench.lead_all();
  const ShardId shard = LockBench::shard_of_name("a");
  const auto held = bench.decided(bench.acquire(5, 1, "a"));
  bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  LockBench other;
  other.lead_all();
  const auto there = other.decided(other.acquire(5, 1, "a"));
  other.acquire(6, 1, "a", protocol::kForeverMs);
  other.decide();
  ASSERT_EQ(there.slot.token, held.slot.token);
  other.decided(other.release(5, 2, "a", there.slot.token));
  std::vector<std::byte> granted;
  other.service->serialize(shard, granted);

  bench.connection = 2;
  const auto bound = bench.acquire(6, 1, "a", protocol::kForeverMs);
  ASSERT_TRUE(bench.engine.proposals.empty());
  ASSERT_TRUE(bench.service->install(shard, granted).ok());
  EXPECT_EQ(bench.sink.take(bound).slot.detail, number(ErrorCode::NotLeader));
  EXPECT_EQ(bench.service->wait_count(), 0u);
  const auto again = bench.acquire(6, 1, "a", protocol::kForeverMs);
  EXPECT_EQ(bench.decided(again).slot.code, StatusCode::Ok);
}

TEST(RepeatedWaitsTest, WaitersAreSentToTheNewLeader) {
  LockBench bench;
  bench.lead_all();
  bench.decided(bench.acquire(5, 1, "a"));
  const auto waiting = bench.acquire(6, 1, "a", protocol::kForeverMs);
  bench.decide();
  bench.engine.follow(*bench.service, LockBench::shard_of_name("a"), NodeId{2});
  const auto moved = bench.sink.take(waiting);
  EXPECT_EQ(moved.slot.detail, number(ErrorCode::NotLeader));
  EXPECT_EQ(moved.slot.leader, 2u);
  EXPECT_EQ(bench.service->wait_count(), 0u);
  EXPECT_EQ(bench.sink.parked, 0);
}

}  // namespace
}  // namespace gcoord::server
