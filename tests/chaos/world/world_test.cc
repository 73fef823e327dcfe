// The simulated world of whole nodes: what once failed, bit-exact replay, and that faults strike.
#include "chaos/world/world.h"

#include "chaos/world/apart.h"
#include "chaos/world/bit_flips.h"
#include "chaos/world/lone_node.h"
#include "chaos/world/world_runs.h"
#include "membership/coordinator/elector.h"
#include "server/sessions/expiry.h"
#include "tests/source_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::chaos {
namespace {

using coordinator::Elector;

// Of the lines "world SEED ARGUMENTS  # what it showed" in seeds.txt.
std::vector<WorldOptions> kept_worlds() {
  std::ifstream file(in_sources("tests/seeds.txt"));
  std::vector<WorldOptions> worlds;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("world ")) {
      const auto parsed = parse_replay(line.substr(6, line.find('#') - 6));
      EXPECT_TRUE(parsed.ok()) << line;
      worlds.push_back(parsed.value());
    }
  }
  return worlds;
}

WorldOptions short_world(std::uint64_t seed) {
  WorldOptions options = world_of_seed(seed);
  options.safety_ms = 20'000;
  return options;
}

TEST(World, KeptSeedsBreakNothing) {
  const std::vector<WorldOptions> worlds = kept_worlds();
  ASSERT_FALSE(worlds.empty());
  for (const WorldOptions& options : worlds) {
    EXPECT_EQ(run_apart(options).violation, "") << replay_arguments(options);
  }
}

TEST(World, OneSeedIsOneRun) {
  const WorldResult first = run_apart(short_world(7));
  EXPECT_EQ(first.digest, run_apart(short_world(7)).digest);
  EXPECT_NE(first.digest, run_apart(short_world(8)).digest);
}

TEST(World, WithoutFaultsEverythingIsAnswered) {
  WorldOptions options = short_world(3);
  options.faults = 0;
  const WorldResult result = run_apart(options);
  EXPECT_EQ(result.violation, "");
  EXPECT_GT(result.acknowledged, 100u);
}

TEST(World, ReadsOfEveryConsistencyAreAskedAndJudgedUnderFaults) {
  std::uint64_t weak = 0;
  std::uint64_t quorum = 0;
  for (std::uint64_t seed = 5; seed <= 16; ++seed) {
    const WorldResult result = run_apart(short_world(seed));
    EXPECT_EQ(result.violation, "") << seed;
    weak += result.weak_reads;
    quorum += result.quorum_reads;
  }
  EXPECT_GT(weak, 100u);
  EXPECT_GT(quorum, 50u);
}

// In memory mode: node 2 takes a snapshot of shard 11 and is killed before its next checkpoint, so
// its history begins behind what its checkpoint says.
TEST(World, AShardWhoseHistoryBeginsBehindItsCheckpointComesBackEmpty) {
  EXPECT_EQ(run_apart(world_of_seed(25266)).violation, "");
}

constexpr server::DeviceChoice kTwin{.kind = server::DeviceChoice::Kind::Twin};

// Packed rows (three nodes) and wide ones (five and more), durable and in memory.
TEST(World, OnDevicesItIsWhatItIsOnCpus) {
  for (const std::uint64_t seed : {4u, 8u, 12u, 16u}) {
    WorldOptions options = world_of_seed(seed, kTwin);
    options.safety_ms = 20'000;
    ASSERT_EQ(options.faults & kDeviceFaults, 0u) << "every fourth seed";
    const WorldResult result = run_apart(options);
    EXPECT_EQ(result.violation, "") << seed;
    EXPECT_GT(result.steps_checked, 3'000u) << seed;
    WorldOptions on_cpus = short_world(seed);
    on_cpus.steps_only = true;
    EXPECT_EQ(result.digest, run_apart(on_cpus).digest) << seed;
  }
}

TEST(World, DevicesThatFailOrForgetStopTheirNodesAndLoseNothing) {
  FaultCounts faults{};
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    WorldOptions options = world_of_seed(seed, kTwin);
    options.safety_ms = 40'000;
    const WorldResult result = run_apart(options);
    EXPECT_EQ(result.violation, "") << seed;
    for (std::size_t k = 0; k < kFaultClassCount; ++k) {
      faults[k] += result.faults[k];
    }
  }
  EXPECT_GT(faults[static_cast<std::size_t>(FaultClass::DeviceFlip)], 0u);
  EXPECT_GT(faults[static_cast<std::size_t>(FaultClass::DeviceError)], 0u);
}

TEST(World, MembersOfGroupsSeeOneHistory) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    WorldOptions options = world_of_seed(seed);
    options.group_members = 5;
    const WorldResult result = run_apart(options);
    EXPECT_EQ(result.violation, "") << seed;
    EXPECT_GT(result.group_requests, 50u) << seed;
  }
}

TEST(World, AMistakeThatIsPlantedIsFound) {
  WorldOptions options = world_of_seed(1);
  options.mutant = Mutant::EntrySkipped;
  EXPECT_NE(run_apart(options).violation, "");
}

// Sessions that some node still has.
bool any_session(World& world) {
  for (std::uint32_t index = 0; index < world.options().node_count; ++index) {
    if (world.node(index).service().locks().usage().sessions != 0) {
      return true;
    }
  }
  return false;
}

std::uint32_t busiest_leader(World& world) {
  const auto led = [&](std::uint32_t index) {
    return world.node(index).engine().view().leader_count;
  };
  std::uint32_t busiest = 0;
  for (std::uint32_t index = 1; index < world.options().node_count; ++index) {
    busiest = led(index) > led(busiest) ? index : busiest;
  }
  return busiest;
}

void hand_all_to(World& world, std::uint32_t heir) {
  for (std::uint32_t index = 0; index < world.options().node_count; ++index) {
    for (std::uint32_t shard = 0; index != heir && shard < world.options().shard_count; ++shard) {
      world.node(index).engine().transfer(ShardId{shard}, NodeId{heir + 1});
    }
  }
}

// S7: late by a bound, never early. The leader stands still beyond its election timeout, and leads
// again soon after it went on.
TEST(World, S7ASilentSessionEndsWithinItsBoundAlthoughItsLeaderStoodStill) {
  WorldOptions options = world_of_seed(3);
  options.node_count = 3;
  options.faults = 0;
  options.durability = consensus::Durability::Durable;
  options.ttl_ms = static_cast<std::uint32_t>(options.election_ms());
  World world(options);
  world.load_for(8'000);
  for (const auto& client : world.clients()) {
    client->set_paused(true);
  }
  ASSERT_TRUE(any_session(world));
  const std::uint64_t silent_us = world.now_us();
  const std::uint32_t paused = busiest_leader(world);
  world.node(paused).set_paused(true);
  world.load_for(options.election_ms() * 13 / 10);
  world.node(paused).set_paused(false);
  world.load_for(options.election_ms() / 10);
  hand_all_to(world, paused);
  const auto silent_ms = [&] { return (world.now_us() - silent_us) / 1000; };
  while (any_session(world) && silent_ms() < 60'000) {
    world.load_for(options.tick_ms);
  }
  const std::uint64_t decision_ms = 4 * options.tick_ms;
  EXPECT_LE(silent_ms(),
            options.ttl_ms + options.election_ms() * 3 / 2 +
                server::kEndTicksMax * options.tick_ms + decision_ms);
  EXPECT_GE(silent_ms(), options.ttl_ms - options.ttl_ms / 3) << "since its last keep-alive";
}

// Fault 16: the first pass after a pause acted before it knew of the pause, and took the silence of
// a coordinator to which nobody had listened for its end.
TEST(World, ANodeThatWasPausedDoesNotStandForCoordinatorBecauseItHeardNothing) {
  WorldOptions options = world_of_seed(3);
  options.node_count = 3;
  options.faults = 0;
  options.durability = consensus::Durability::Durable;
  options.coordinator = server::CoordinatorMethod::Bully;
  World world(options);
  world.load_for(8 * options.election_ms());
  WorldNode& node = world.node(0);
  const server::CoordinatorView before = node.service().coordinator();
  ASSERT_EQ(before.coordinator, NodeId{3});
  node.set_paused(true);
  world.load_for(2 * Elector::kSilencePatiences * options.election_ms());
  node.set_paused(false);
  world.load_for(options.quantum_ms);
  EXPECT_EQ(node.service().coordinator().elections, before.elections);
}

// Acquires are copied; their sessions end; every node restarts from a checkpoint behind that. The
// copies that arrive then at every node; none: there was nothing to copy.
std::size_t copies_after_restart(World& world) {
  world.load_for(8'000);
  world.wire().copies_acquires = true;
  world.load_for(2'000);
  world.wire().copies_acquires = false;
  for (const auto& client : world.clients()) {
    client->set_paused(true);
  }
  for (int tenths = 0; any_session(world) && tenths < 300; ++tenths) {
    world.load_for(100);
  }
  EXPECT_FALSE(any_session(world));
  for (std::uint32_t index = 0; index < world.options().node_count; ++index) {
    world.node(index).engine().request_checkpoint();
  }
  world.load_for(2'000);
  for (std::uint32_t index = 0; index < world.options().node_count; ++index) {
    world.node(index).stop();
    EXPECT_TRUE(world.node(index).start(world.now_us()).ok());
  }
  for (int tenths = 0; !world.why_unled().empty() && tenths < 300; ++tenths) {
    world.load_for(100);
  }
  EXPECT_FALSE(any_session(world));
  const std::size_t copies =
      world.wire().deliver_copies(world.options().node_count, world.now_us());
  world.load_for(500);
  return copies;
}

WorldOptions world_of_late_copies() {
  WorldOptions options = world_of_seed(3);
  options.node_count = 3;
  options.faults = 0;
  options.durability = consensus::Durability::Durable;
  options.ttl_ms = static_cast<std::uint32_t>(options.election_ms());
  return options;
}

TEST(World, ALateCopyAfterARestartOfAllNodesHoldsNothing) {
  WorldOptions options = world_of_late_copies();
  options.names_terms = true;
  World world(options);
  EXPECT_GT(copies_after_restart(world), 5u);
  EXPECT_FALSE(any_session(world));
  for (const auto& client : world.clients()) {
    client->set_paused(false);
  }
  world.load_for(8'000);
  EXPECT_TRUE(any_session(world)) << "who lives is taken";
}

// The bound of docs/reference/services.md, "A late copy of an acquire".
TEST(World, ALateCopyOfAnOlderClientHoldsItsLockForAtMostItsTtl) {
  World world(world_of_late_copies());
  EXPECT_GT(copies_after_restart(world), 5u);
  EXPECT_TRUE(any_session(world));
  world.load_for(world.options().ttl_ms + world.options().election_ms() * 3 / 2 +
                 server::kEndTicksMax * world.options().tick_ms);
  EXPECT_FALSE(any_session(world));
}

std::uint64_t count_of(const WorldResult& result, PowerCount which) {
  return result.power[static_cast<std::size_t>(which)];
}

TEST(World, PowerThatGoesBetweenTwoOperationsLosesNothing) {
  const WorldResult result = run_apart(power_world_of_seed(2));
  EXPECT_EQ(result.violation, "");
  EXPECT_GT(count_of(result, PowerCount::OneNode), 0u);
  EXPECT_GT(count_of(result, PowerCount::AllNodes), 0u);
  EXPECT_GT(count_of(result, PowerCount::InRecovery), 0u);
  EXPECT_GT(count_of(result, PowerCount::BeforeSync), 0u);
  EXPECT_GT(count_of(result, PowerCount::ShardsCompared), 0u);
  EXPECT_GT(result.acknowledged, 0u);
}

TEST(World, ALogThatIsNotSyncedIsFoundByALossOfPower) {
  WorldOptions options = power_world_of_seed(2);
  options.mutant = Mutant::SyncDoesNothing;
  EXPECT_NE(run_apart(options).violation, "");
}

TEST(World, AVoteThatIsForgottenIsFoundWithoutASecondCandidate) {
  WorldOptions options = world_of_seed(1);
  options.mutant = Mutant::VoteForgottenAtRestart;
  const std::string violation = run_apart(options).violation;
  EXPECT_TRUE(violation.starts_with("I2: node")) << violation;
}

TEST(BitFlips, AreFoundOrHarmless) {
  const FlipCounts counts = flip_bits({.seed = 3, .flips = 300});
  EXPECT_EQ(counts.first_wrong, "");
  EXPECT_EQ(counts.total(FlipOutcome::Wrong), 0u);
  EXPECT_GT(counts.total(FlipOutcome::Refused), 100u);
  EXPECT_GT(counts.by_kind.at("log segment")[0], 0u);
  EXPECT_GT(counts.by_kind.at("identity file")[0], 0u);
  EXPECT_EQ(to_text(flip_counts_of(to_text(counts))), to_text(counts));
}

// What "known exactly as without the flip" is judged by.
TEST(BitFlips, ANodeThatKnowsSomethingElseIsToldApart) {
  WorldOptions options = short_world(3);
  options.durability = consensus::Durability::Durable;
  options.faults = 0;
  World world(options);
  world.load_for(8'000);
  const auto before = world.node(0).disk().copy();
  world.load_for(2'000);
  const auto after = world.node(0).disk().copy();
  LoneNode node(options, NodeId{1});
  const LoneNode::Known known = node.start(after->copy());
  ASSERT_TRUE(known.opened.ok()) << known.opened.message();
  EXPECT_EQ(node.start(after->copy()).facts, known.facts);
  const LoneNode::Known earlier = node.start(before->copy());
  ASSERT_TRUE(earlier.opened.ok()) << earlier.opened.message();
  EXPECT_NE(earlier.facts, known.facts);
}

TEST(Apart, TheEndOfATaskIsTold) {
  EXPECT_EQ(run_one_apart([] { return std::string(100'000, 'x'); }, 60).text.size(), 100'000u);
  const ApartResult dead = run_one_apart([]() -> std::string { std::abort(); }, 60);
  EXPECT_NE(dead.death.find("signal 6"), std::string::npos) << dead.death;
}

TEST(World, ArgumentsOfAReplayComeBack) {
  const WorldOptions options = world_of_seed(12);
  const auto parsed = parse_replay(replay_arguments(options));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(replay_arguments(parsed.value()), replay_arguments(options));
  EXPECT_FALSE(parse_replay("12 --faults no_such_fault").ok());
}

}  // namespace
}  // namespace gcoord::chaos
