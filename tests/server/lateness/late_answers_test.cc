// Which requests the lock service calls slow: by the time from their arrival to their answer,
// without the wait that they asked for.
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

class LateAnswers : public testing::Test {
 protected:
  LateAnswers() { bench_.lead_all(); }

  std::uint64_t slow_count() {
    return bench_.metrics.counter({"gcoord_server_slow_requests_total", "", "", ""}).value();
  }

  LockBench bench_;
};

TEST_F(LateAnswers, ACommandIsMeasuredUntilItIsApplied) {
  bench_.acquire(5, 1, "a");
  bench_.pass_ms(LockBench::kSlowMs - 1);
  bench_.decide();
  EXPECT_EQ(slow_count(), 0u);
  bench_.acquire(5, 2, "b");
  bench_.pass_ms(LockBench::kSlowMs);
  bench_.decide();
  EXPECT_EQ(slow_count(), 1u);
}

TEST_F(LateAnswers, ACommandThatIsRefusedLateIsSlowToo) {
  bench_.acquire(5, 1, "a");
  bench_.pass_ms(LockBench::kSlowMs);
  bench_.engine.refuse(*bench_.service, Status{StatusCode::Unknown, "lost"}, NodeId{});
  EXPECT_EQ(slow_count(), 1u);
}

TEST_F(LateAnswers, TheWaitInTheQueueOfALockIsNotCounted) {
  const auto held = bench_.decided(bench_.acquire(5, 1, "a"));
  const auto waits = bench_.acquire(6, 1, "a", protocol::kForeverMs);
  bench_.decide();
  bench_.pass_ms(10 * LockBench::kSlowMs);
  bench_.decided(bench_.release(5, 2, "a", held.slot.token));
  EXPECT_EQ(bench_.sink.take(waits).slot.code, StatusCode::Ok);
  EXPECT_EQ(slow_count(), 0u);
}

TEST_F(LateAnswers, AReadIsMeasuredUntilTheLeaderIsConfirmed) {
  bench_.send(bench_.slot(protocol::RequestKind::LockGet), "a");
  bench_.pass_ms(LockBench::kSlowMs - 20);
  bench_.engine.confirm_reads(*bench_.service);
  EXPECT_EQ(slow_count(), 0u);
  bench_.send(bench_.slot(protocol::RequestKind::LockGet), "a");
  bench_.pass_ms(LockBench::kSlowMs + 20);
  bench_.engine.confirm_reads(*bench_.service);
  EXPECT_EQ(slow_count(), 1u);
}

// It was measured in ticks, and called slow when it had taken up to a tick less.
TEST_F(LateAnswers, AReadThatBeginsWithinATickIsMeasuredToTheMicrosecond) {
  bench_.pass_ms(9);
  bench_.send(bench_.slot(protocol::RequestKind::LockGet), "a");
  bench_.pass_ms(LockBench::kSlowMs - 1);
  bench_.engine.confirm_reads(*bench_.service);
  EXPECT_EQ(slow_count(), 0u);
  bench_.send(bench_.slot(protocol::RequestKind::LockGet), "a");
  bench_.pass_ms(LockBench::kSlowMs);
  bench_.engine.confirm_reads(*bench_.service);
  EXPECT_EQ(slow_count(), 1u);
}

}  // namespace
}  // namespace gcoord::server
