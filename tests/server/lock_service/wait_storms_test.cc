// Very many waits that end together: what one pass of the loop does of them, not how fast.
#include "server/budget/pass_budget.h"
#include "server/lock_service/lock_service.h"
#include "server/lock_service/outcomes.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

constexpr std::size_t kWaiters = 5000;

class WaitStormsTest : public testing::Test {
 protected:
  // So many sessions wait for "a"; sessions 6 and up, in this order.
  void queue(std::uint32_t wait_ms) {
    bench_.lead_all();
    held_ = bench_.decided(bench_.acquire(5, 1, "a", 0, 60'000));
    for (std::size_t k = 0; k < kWaiters; ++k) {
      bench_.acquire(6 + k, 1, "a", wait_ms, 60'000);
    }
    bench_.decide();
    ASSERT_EQ(bench_.service->wait_count(), kWaiters);
    bench_.sink.replies.clear();
  }

  // Passes within the same tick, until so many replies have come; the most that one pass sent.
  std::size_t pass_until(std::size_t replies) {
    std::size_t most = bench_.sink.replies.size();
    for (int pass = 0; bench_.sink.replies.size() < replies && pass < 1000; ++pass) {
      EXPECT_EQ(bench_.service->until_next_deadline_ms(), 0u) << "the loop must not sleep";
      const std::size_t before = bench_.sink.replies.size();
      bench_.pass_ms(0);
      most = std::max(most, bench_.sink.replies.size() - before);
    }
    EXPECT_EQ(bench_.sink.replies.size(), replies);
    return most;
  }

  std::size_t with_detail(ErrorCode code) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(bench_.sink.replies, [code](const KeptReply& each) {
          return each.slot.detail == static_cast<std::uint32_t>(code);
        }));
  }

  LockBench bench_;
  KeptReply held_;
};

// They were all told in the turn that lost the leadership, which nothing else came through.
TEST_F(WaitStormsTest, WaitsOfALostLeaderAreToldInSlicesAndAllOfThem) {
  queue(protocol::kForeverMs);
  bench_.engine.follow(*bench_.service, LockBench::shard_of_name("a"), NodeId{2});
  EXPECT_LE(bench_.sink.replies.size(), kPassUnits);
  EXPECT_LE(pass_until(kWaiters), kPassUnits);
  EXPECT_EQ(with_detail(ErrorCode::NotLeader), kWaiters);
  EXPECT_EQ(bench_.sink.replies.back().slot.leader, 2u);
  EXPECT_EQ(bench_.service->wait_count(), 0u);
  bench_.pass_ms(0);
  EXPECT_NE(bench_.service->until_next_deadline_ms(), 0u);
}

// The new leader granted it, and this node applies that before it has told the waiter.
TEST_F(WaitStormsTest, AWaitThatIsToBeToldAsksTheNewLeaderForItsGrant) {
  queue(protocol::kForeverMs);
  const std::uint64_t release = bench_.release(5, 2, "a", held_.slot.token);
  bench_.engine.follow(*bench_.service, LockBench::shard_of_name("a"), NodeId{2});
  ASSERT_LT(bench_.sink.replies.size(), kWaiters);
  bench_.decide();
  bench_.sink.take(release);
  pass_until(kWaiters);
  EXPECT_EQ(with_detail(ErrorCode::NotLeader), kWaiters);
  EXPECT_EQ(bench_.sink.parked, 0);
}

TEST_F(WaitStormsTest, AWaitThatIsAskedForAgainHereStaysWhileTheOthersAreTold) {
  queue(protocol::kForeverMs);
  bench_.engine.follow(*bench_.service, LockBench::shard_of_name("a"), NodeId{2});
  const std::size_t told = bench_.sink.replies.size();
  ASSERT_LT(told, kWaiters);
  bench_.lead_all();
  bench_.acquire(6, 1, "a", protocol::kForeverMs);  // It was told first.
  pass_until(kWaiters);
  EXPECT_EQ(bench_.service->wait_count(), 1u);
  bench_.release(5, 2, "a", held_.slot.token);
  bench_.decide();
  EXPECT_EQ(bench_.service->wait_count(), 0u);
}

// All were proposed in one pass: more than a shard takes, so most were refused and came again with
// the next tick, all together.
TEST_F(WaitStormsTest, WaitsThatRunOutTogetherAreProposedInSlicesAndSoManyAreUnderWay) {
  queue(1000);
  bench_.pass_ms(1020);
  std::size_t before = 0;
  std::size_t most = 0;
  for (int pass = 0; pass < 100 && bench_.engine.proposals.size() > before; ++pass) {
    most = std::max(most, bench_.engine.proposals.size() - before);
    before = bench_.engine.proposals.size();
    bench_.pass_ms(0);
  }
  EXPECT_LE(most, kPassUnits / 2 + 1);
  EXPECT_EQ(bench_.engine.proposals.size(), kWaitEndsUnderWayMax);
  EXPECT_NE(bench_.service->until_next_deadline_ms(), 0u) << "a decision wakes the loop";
  for (int round = 0; round < 100 && bench_.service->wait_count() > 0; ++round) {
    bench_.decide();
    bench_.pass_ms(0);
    EXPECT_LE(bench_.engine.proposals.size(), kWaitEndsUnderWayMax);
  }
  EXPECT_EQ(with_detail(ErrorCode::WaitTimedOut), kWaiters);
}

TEST_F(WaitStormsTest, EndsThatWereRefusedComeAgain) {
  queue(1000);
  bench_.pass_ms(1020);
  const std::size_t proposed = bench_.engine.proposals.size();
  ASSERT_GT(proposed, 0u);
  bench_.engine.refuse(*bench_.service, Status{StatusCode::ResourceExhausted, "full"}, NodeId{});
  for (int round = 0; round < 100 && bench_.service->wait_count() > 0; ++round) {
    bench_.pass_ms(10);
    bench_.decide();
  }
  EXPECT_EQ(with_detail(ErrorCode::WaitTimedOut), kWaiters);
}

}  // namespace
}  // namespace gcoord::server
