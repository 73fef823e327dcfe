// Members of a group that die at once leave in one view, though each was last heard at a moment of
// its own; locks, lone members and sessions without a group end when they ran out.
#include "server/sessions/gathered_ends.h"

#include "protocol/groups/messages.h"
#include "tests/server/sessions/expiry_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::string_view kName = "workers";
constexpr std::uint32_t kTtlMs = 2000;

// Ticks of 10 ms: a window is a third of the TTL and a twentieth to settle.
constexpr std::uint64_t kTtl = 200;
constexpr std::uint64_t kNeeded = kTtl + 4;
constexpr std::uint64_t kSettle = 10;
constexpr std::uint64_t kWindow = kTtl / 3 + kSettle;

DoubtedMember silent_for(std::uint64_t ticks) {
  return {.ttl_ticks = kTtl, .needed_ticks = kNeeded, .silent_ticks = ticks};
}

std::uint64_t wait_of(const std::vector<std::uint64_t>& silences) {
  std::vector<DoubtedMember> doubted;
  for (const std::uint64_t ticks : silences) {
    doubted.push_back(silent_for(ticks));
  }
  return gather_ticks(doubted, kGatherSettleMsMax / 10);
}

TEST(GatherTicks, AMemberAloneWaitsForNobody) {
  EXPECT_EQ(wait_of({}), 0u);
  EXPECT_EQ(wait_of({kNeeded}), 0u);
  EXPECT_EQ(wait_of({kNeeded + 3}), 0u);
  EXPECT_EQ(wait_of({kNeeded - 50}), 0u) << "nobody is due";
}

TEST(GatherTicks, TheFirstWaitsUntilTheLastThatIsDoubtedHasRunOutAndTheOthersHaveToo) {
  EXPECT_EQ(wait_of({kNeeded, kNeeded - 40}), 40 + kSettle);
  EXPECT_EQ(wait_of({kNeeded, kNeeded - 40, kNeeded - kTtl / 3}), kTtl / 3 + kSettle);
  EXPECT_EQ(wait_of({kNeeded, kNeeded}), kSettle);
}

TEST(GatherTicks, AllOfAWindowEndInTheSameTick) {
  for (std::uint64_t passed = 0; passed < 40 + kSettle; ++passed) {
    EXPECT_EQ(wait_of({kNeeded + passed, kNeeded + passed - 40}), 40 + kSettle - passed) << passed;
  }
  EXPECT_EQ(wait_of({kNeeded + 40 + kSettle, kNeeded + kSettle}), 0u);
}

TEST(GatherTicks, WhoRunsOutAfterTheWindowIsNotWaitedFor) {
  EXPECT_EQ(wait_of({kNeeded, kNeeded - kTtl / 3 - 1}), 0u);
  EXPECT_EQ(wait_of({kNeeded + 30, kNeeded - kTtl / 3 + 29}), 0u);
  // The window of the first one is everybody's: deaths in a row do not keep it open.
  EXPECT_EQ(wait_of({kNeeded + kWindow - 1, kNeeded + 20, kNeeded - 10}), 0u);
}

TEST(GatherTicks, WhoIsDueForLongerThanAWindowKeepsNobody) {
  EXPECT_EQ(wait_of({kNeeded + kWindow + 1, kNeeded}), 0u);
  EXPECT_EQ(wait_of({kNeeded + 10'000, kNeeded, kNeeded - 40}), 40 + kSettle);
}

TEST(GatherTicks, AShortTtlSettlesForTwoTicks) {
  const DoubtedMember due{.ttl_ticks = 10, .needed_ticks = 14, .silent_ticks = 14};
  const DoubtedMember later{.ttl_ticks = 10, .needed_ticks = 14, .silent_ticks = 12};
  const std::vector<DoubtedMember> both{due, later};
  EXPECT_EQ(gather_ticks(both, kGatherSettleMsMax / 10), 4u);
}

// Three nodes whose clock the test turns: nothing here depends on the machine's speed.
class GatheredEndsTest : public ThreeNodesTest {
 protected:
  GatheredEndsTest() { older_.clear(); }

  void SetUp() override {
    for (int passes = 0; passes < 3; ++passes) {
      pass_ms(10);  // Nodes say what they know.
    }
  }

  void join(std::uint64_t session, std::string_view name = kName) {
    protocol::RequestSlot slot = leader_.slot(protocol::RequestKind::GroupJoin);
    slot.session = session;
    slot.sequence = 1;
    slot.acked_below = 1;
    slot.ttl_ms = kTtlMs;
    slot.shard = LockBench::shard_of_name(name).value;
    const std::string id = "m" + std::to_string(session);
    const auto request =
        leader_.send(slot, protocol::encode_group_join({std::string{name}, id, ""}));
    decide();
    ASSERT_EQ(leader_.sink.take(request).slot.code, StatusCode::Ok);
  }

  // All nodes hear the session.
  void renew(std::uint64_t session) {
    for (LockBench* bench : all_) {
      keep_alive(*bench, session);
    }
  }

  // Steps of a tick; what is proposed is decided in the tick after. The times of the views.
  std::vector<std::uint64_t> views_within(std::uint64_t ms,
                                          const std::vector<std::uint64_t>& living = {}) {
    std::vector<std::uint64_t> moments;
    std::uint64_t before = epoch();
    for (std::uint64_t passed = 10; passed <= ms; passed += 10) {
      if (passed % 600 == 0) {
        std::ranges::for_each(living, [this](std::uint64_t session) { renew(session); });
      }
      pass_ms(10);
      decide();
      if (epoch() != before) {
        EXPECT_EQ(epoch(), before + 1);
        before = epoch();
        moments.push_back(passed);
      }
    }
    return moments;
  }

  std::uint64_t epoch() const { return view().epoch; }

  membership::GroupView view() const {
    return leader_.service->group_machine().groups().view(LockBench::shard_of_name(kName),
                                                          hash_name(kName));
  }
};

TEST_F(GatheredEndsTest, M8MembersThatDieAtOnceMakeOneViewThoughTheyWereHeardAtDifferentMoments) {
  for (std::uint64_t session = 1; session <= 4; ++session) {
    join(session);
  }
  renew(1);
  pass_ms(250);
  renew(2);
  pass_ms(350);
  renew(3);
  renew(4);
  // 1, 2 and 3 die now.
  const std::vector<std::uint64_t> moments = views_within(4000, {4});
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_GE(moments[0], kTtlMs) << "the last one lives for its whole TTL";
  EXPECT_LE(moments[0], kTtlMs * 12 / 10);
  ASSERT_EQ(view().members.size(), 1u);
  EXPECT_EQ(view().members[0].id, "m4");
  expect_equal_states();
}

TEST_F(GatheredEndsTest, M8OneEntryOfTheLogEndsThemAll) {
  for (std::uint64_t session = 1; session <= 3; ++session) {
    join(session);
  }
  renew(1);
  pass_ms(600);
  renew(2);
  renew(3);
  for (int ticks = 0; leader_.engine.proposals.empty() && ticks < 400; ++ticks) {
    pass_ms(10);
  }
  EXPECT_EQ(leader_.engine.proposals.size(), 1u);
  EXPECT_EQ(ends_proposed(), 3u);
}

TEST_F(GatheredEndsTest, AMemberThatDiesAloneIsNotKept) {
  join(1);
  join(2);
  const std::vector<std::uint64_t> moments = views_within(3000, {2});
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_LE(moments[0], kTtlMs + kEndTicksMax * 10);
}

TEST_F(GatheredEndsTest, AMemberThatIsHeardAgainIsNotWaitedForAndLives) {
  join(1);
  pass_ms(600);
  join(2);
  // 2 is late: it is doubted at the deadline of 1, and heard 30 ms after.
  std::uint64_t passed = 0;
  for (; passed < 1470; passed += 10) {
    pass_ms(10);
    ASSERT_EQ(decide(), 0u) << passed;
  }
  renew(2);
  const std::vector<std::uint64_t> moments = views_within(1500);
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_LE(moments[0], kGatherRecheckMs + kEndTicksMax * 10);
  ASSERT_EQ(view().members.size(), 1u);
  EXPECT_EQ(view().members[0].id, "m2");
}

TEST_F(GatheredEndsTest, DeathsThatAreFartherApartThanAWindowMakeAViewEach) {
  join(1);
  join(2);
  pass_ms(900);
  renew(2);
  EXPECT_EQ(views_within(4000).size(), 2u);
}

TEST_F(GatheredEndsTest, S7AMemberThatHoldsALockOfTheShardIsNotKept) {
  std::string name = "job/0";
  for (int k = 1; LockBench::shard_of_name(name) != LockBench::shard_of_name(kName); ++k) {
    name = "job/" + std::to_string(k);
  }
  join(1);
  leader_.acquire(1, 2, name, 0, kTtlMs);
  decide();
  pass_ms(500);
  join(2);
  std::uint64_t passed = 0;
  const auto held = [&] {
    return leader_.service->locks()
        .get(LockBench::shard_of_name(name), hash_name(name))
        .has_value();
  };
  ASSERT_TRUE(held());
  for (; held() && passed < 4000; passed += 10) {
    pass_ms(10);
    decide();
  }
  EXPECT_LE(passed, kTtlMs - 500 + kEndTicksMax * 10 + 10);
}

TEST_F(GatheredEndsTest, S7NobodyWaitsForAMemberThatHoldsALockOfTheShard) {
  std::string name = "job/0";
  for (int k = 1; LockBench::shard_of_name(name) != LockBench::shard_of_name(kName); ++k) {
    name = "job/" + std::to_string(k);
  }
  join(1);
  pass_ms(500);
  join(2);
  leader_.acquire(2, 2, name, 0, kTtlMs);
  decide();
  const std::vector<std::uint64_t> moments = views_within(4000);
  ASSERT_EQ(moments.size(), 2u);
  EXPECT_LE(moments[0], kTtlMs - 500 + kEndTicksMax * 10 + 10);
}

// More than a pass looks at, in groups whose first half waits for the second one.
TEST_F(GatheredEndsTest, S7ManyMembersThatWaitDoNotKeepTheHolderOfALock) {
  constexpr std::uint64_t kMembers = 3000;
  for (std::uint64_t session = 2; session < 2 + kMembers; ++session) {
    join(session, "workers" + std::to_string(session % 16));
  }
  pass_ms(200);
  leader_.acquire(1, 1, "lone", 0, kTtlMs);
  decide();
  pass_ms(300);
  for (std::uint64_t session = 2; session < 2 + kMembers / 2; ++session) {
    renew(session);
  }
  const auto held = [&] {
    return leader_.service->locks()
        .get(LockBench::shard_of_name("lone"), hash_name("lone"))
        .has_value();
  };
  ASSERT_TRUE(held());
  std::uint64_t passed = 0;
  for (; held() && passed < 4000; passed += 10) {
    pass_ms(10);
    decide();
  }
  EXPECT_LE(passed, kTtlMs - 300 + kEndTicksMax * 10 + 10);
}

// Sixty groups of 200 are six times what a tick looks at, wherever in the order of shards the group
// of the lone death stands.
TEST_F(GatheredEndsTest, AGroupBehindManyDoubtedOnesIsLookedAtInItsWindow) {
  constexpr std::uint64_t kGroups = 60;
  constexpr std::uint64_t kMembers = 200;
  std::uint64_t session = 10;
  for (std::uint64_t group = 0; group < kGroups; ++group) {
    for (std::uint64_t member = 0; member < kMembers; ++member) {
      join(session++, "crowd" + std::to_string(group));
    }
  }
  const std::uint64_t end = session;
  join(1);
  join(2);
  pass_ms(600);
  renew(2);
  for (session = 10; session < end; session += 2) {
    renew(session);
  }
  const std::vector<std::uint64_t> moments = views_within(2000, {2});
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_LE(moments[0], kTtlMs - 600 + kEndTicksMax * 10 + kWindow * 10);
  expect_equal_states();
}

TEST_F(GatheredEndsTest, GroupsAndSessionsWithoutOneDoNotKeepEachOther) {
  join(1);
  join(2, "others");
  leader_.acquire(3, 1, "lone", 0, kTtlMs);
  decide();
  pass_ms(500);
  join(4, "others");
  // The first of the others waits for the last of them, which has 400 ms left.
  const std::vector<std::uint64_t> moments = views_within(1700);
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_LE(moments[0], kTtlMs - 500 + kEndTicksMax * 10);
}

// The same with the tables in parts, as where threads follow a device: the session that holds a
// lock is found in the part of the shard.
class GatheredEndsOfPartsTest : public GatheredEndsTest {
 protected:
  GatheredEndsOfPartsTest() {
    LockServiceOptions options;
    options.node = NodeId{1};
    options.nodes = nodes_;
    options.tick_ms = 10;
    options.election_ticks = 10;
    options.limits = {4, 100, 60'000};
    options.part_shards = 1;
    leader_.service = std::make_unique<LockService>(options, leader_.sink, metrics_);
    leader_.router = std::make_unique<RequestRouter>(RequestOwners{.service = *leader_.service});
    leader_.service->set_time(1'000'000);
    leader_.service->start(leader_.engine, Incarnation{7}, leader_.reports);
    leader_.lead_all();
  }

  ~GatheredEndsOfPartsTest() override {
    leader_.router.reset();
    leader_.service.reset();
  }

 private:
  MetricsRegistry metrics_;
};

TEST_F(GatheredEndsOfPartsTest, MembersThatDieAtOnceMakeOneView) {
  ASSERT_EQ(leader_.service->locks().clock().only(), nullptr);
  join(1);
  join(2);
  join(3);
  leader_.acquire(3, 2, "job/0", 0, kTtlMs);
  decide();
  renew(1);
  pass_ms(250);
  renew(2);
  pass_ms(350);
  renew(3);
  // 1 and 2 die now.
  const std::vector<std::uint64_t> moments = views_within(4000, {3});
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_GE(moments[0], kTtlMs - 350);
  ASSERT_EQ(view().members.size(), 1u);
  EXPECT_EQ(view().members[0].id, "m3");
  expect_equal_states();
}

// Bytes and results of a log without gathered ends are those of before: one entry for each death.
TEST_F(GatheredEndsTest, WhereListsAreUnknownEachEndIsAnEntryOfItsOwnStill) {
  leader_.engine.holds = false;
  join(1);
  pass_ms(500);
  join(2);
  for (int ticks = 0; leader_.engine.proposals.empty() && ticks < 400; ++ticks) {
    pass_ms(10);
  }
  const std::vector<locks::LockCommand> commands = proposed();
  ASSERT_EQ(commands.size(), 2u);
  for (const locks::LockCommand& command : commands) {
    EXPECT_EQ(command.kind, locks::LockCommandKind::ExpireSession);
  }
}

}  // namespace
}  // namespace gcoord::server
