// Worlds whose nodes come and go: that they do, that the judges see it, and what once failed.
#include "chaos/world/world.h"
#include "chaos/world/world_runs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace gcoord::chaos {
namespace {

std::uint64_t count_of(const WorldResult& result, FaultClass fault) {
  return result.faults[static_cast<std::size_t>(fault)];
}

WorldOptions calm_world(std::uint64_t seed) {
  WorldOptions options = world_of_seed(seed);
  options.node_count = 3;
  options.set_faults(mask_of(FaultClass::MemberChange));
  return options;
}

TEST(MemberWorld, WithoutOtherFaultsNodesComeAndGoAndNothingBreaks) {
  const WorldResult result = run_apart(calm_world(3));
  EXPECT_EQ(result.violation, "");
  EXPECT_GT(count_of(result, FaultClass::MemberChange), 5u);
  EXPECT_GT(result.acknowledged, 100u);
  EXPECT_GT(result.sessions.opened, 0u);
  EXPECT_EQ(result.sessions.ended_early, 0u);
}

// Not all of these converge yet; nothing may be lost on the way.
TEST(MemberWorld, MachinesThatAreGoneForEverTakeNoPromiseWithThem) {
  WorldOptions options = calm_world(5);
  options.set_faults(kMemberFaults);
  options.judges_liveness = false;
  const WorldResult result = run_apart(options);
  EXPECT_EQ(result.violation, "");
  EXPECT_GT(count_of(result, FaultClass::NodeLost), 0u);
}

// The leader of shard 0 restarted after its peers had said that they left a view, of which one
// voter has left and another is lost since: nobody can say it again.
TEST(MemberWorld, WhoIsLostWhileItLeavesGoesByTheOperatorsWord) {
  EXPECT_EQ(run_apart(member_world_of_seed(1304)).violation, "");
}

TEST(MemberWorld, OneSeedIsOneRun) {
  WorldOptions options = member_world_of_seed(7);
  options.safety_ms = 20'000;
  EXPECT_EQ(run_apart(options).digest, run_apart(options).digest);
}

TEST(MemberWorld, ArgumentsOfAReplayComeBack) {
  WorldOptions options = member_world_of_seed(25266);  // In memory mode without members.
  options.judges_liveness = false;
  const auto parsed = parse_replay(replay_arguments(options));
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed.value().changes_members());
  EXPECT_FALSE(parsed.value().judges_liveness);
  EXPECT_EQ(parsed.value().durability, consensus::Durability::Durable);
  EXPECT_EQ(replay_arguments(parsed.value()), replay_arguments(options));
}

// Of a time before nodes came and went, and of now.
TEST(MemberWorld, NobodyComesOrGoesWhereThatIsNotAskedFor) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_FALSE(world_of_seed(seed).changes_members());
    const auto parsed = parse_replay(std::to_string(seed));
    ASSERT_TRUE(parsed.ok());
    EXPECT_FALSE(parsed.value().changes_members());
  }
}

}  // namespace
}  // namespace gcoord::chaos
