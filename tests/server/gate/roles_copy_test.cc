// The age of a node's copy of the roles.
#include "server/gate/roles_copy.h"

#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLimitUs = 1'000'000;

TEST(RolesCopyTest, ACopyIsConfirmedByTheLeaderAndAges) {
  LockBench bench;
  bench.lead_all();
  bench.engine.lease = false;  // With one the leader's copy is as new as can be.
  RolesCopy copy(bench.service->handlers().reads.ages(), kLimitUs);
  EXPECT_FALSE(copy.confirmed(bench.now_us));
  EXPECT_EQ(copy.until_next_ms(bench.now_us), 0u);
  copy.advance(bench.now_us);
  EXPECT_EQ(copy.until_next_ms(bench.now_us), kLimitUs / 4000);
  bench.pass_ms(10);
  bench.engine.confirm_reads(*bench.service);
  EXPECT_TRUE(copy.confirmed(bench.now_us));
  bench.pass_ms(980);
  EXPECT_TRUE(copy.confirmed(bench.now_us));
  bench.pass_ms(30);
  EXPECT_FALSE(copy.confirmed(bench.now_us));
  copy.advance(bench.now_us);
  bench.pass_ms(10);
  bench.engine.confirm_reads(*bench.service);
  EXPECT_TRUE(copy.confirmed(bench.now_us));
}

TEST(RolesCopyTest, TheLeaderIsAskedFourTimesInTheLimitAndNotMoreOften) {
  LockBench bench;
  bench.lead_all();
  bench.engine.lease = false;  // With one the leader's copy is as new as can be.
  RolesCopy copy(bench.service->handlers().reads.ages(), kLimitUs);
  std::size_t asked = 0;
  for (int tick = 0; tick < 100; ++tick) {
    copy.advance(bench.now_us);
    bench.pass_ms(10);
    asked += bench.engine.reads.size() + bench.engine.rounds.size();
    bench.engine.confirm_reads(*bench.service);
  }
  EXPECT_EQ(asked, 4u);
}

TEST(RolesCopyTest, ANodeThatBeganWithoutTheRolesKnowsThemFromTheFirstConfirmedCopyOn) {
  for (const RolesStand begun : {RolesStand::Joining, RolesStand::Unconfirmed}) {
    LockBench bench;
    bench.lead_all();
    bench.engine.lease = false;
    RolesCopy copy(bench.service->handlers().reads.ages(), kLimitUs);
    EXPECT_EQ(copy.stand(), RolesStand::Known);
    copy.begin(begun);
    EXPECT_EQ(copy.stand(), begun);
    copy.advance(bench.now_us);
    bench.pass_ms(10);
    EXPECT_EQ(copy.stand(), begun);
    bench.engine.confirm_reads(*bench.service);
    EXPECT_EQ(copy.stand(), begun) << "said by a look, which does not last";
    copy.advance(bench.now_us);
    EXPECT_EQ(copy.stand(), RolesStand::Known);
    bench.pass_ms(5'000);  // Too old for changes, and known all the same.
    copy.advance(bench.now_us);
    EXPECT_EQ(copy.stand(), RolesStand::Known);
  }
}

}  // namespace
}  // namespace gcoord::server
