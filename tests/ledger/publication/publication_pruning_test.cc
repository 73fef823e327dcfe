// Three nodes under a steady load, one of which is behind the others: what each keeps of the
// cluster log levels off.
#include "tests/ledger/publication/publication_world.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLongMs = 20'000;

// All shards change, whether or not anything of it is published.
void load_steadily(PublicationWorld& world, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      world.decide(shard, std::to_string(round));
    }
    world.run(250);
  }
}

void expect_level(PublicationWorld& world) {
  for (auto& node : world.all()) {
    const ledger::ClusterLog& log = *node->log;
    // What is kept, a round or a few, and pairs of files at both ends.
    EXPECT_LE(log.size() - log.first(), 300 + 3 * PublicationWorld::kSegmentLeaves);
    EXPECT_TRUE(node->failure.ok()) << node->failure.message();
    EXPECT_TRUE(node->refusal.ok()) << node->refusal.message();
  }
}

// Node 3 of a run of five minutes kept every head.
TEST(PublicationPruning, ANodeThatComparesRoundsLaterThanTheOthersPrunesAsTheyDo) {
  PublicationWorld world({.keep = {.entries = 300}, .stale_window = 64});
  world.lead(1);
  load_steadily(world, 10);
  ASSERT_GT(world.node(3).last_signed.size, 0u);
  world.node(3).behind_entries = 4;
  world.run(500);
  const std::uint64_t signatures = world.node(3).counter("signatures_total");
  load_steadily(world, 400);
  EXPECT_EQ(world.node(3).counter("signatures_total"), signatures);
  EXPECT_GT(world.node(3).log->size(), 1200u);
  EXPECT_EQ(world.node(3).counter("heads_let_go_total"), 0u);
  expect_level(world);
  world.node(3).behind_entries = 0;
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(1000);
  EXPECT_EQ(world.node(3).last_signed.size, world.node(3).log->size());
  EXPECT_TRUE(world.node(3).alarms.empty());
}

TEST(PublicationPruning, ANodeThatNeverCatchesUpWithComparingLetsGoOfWhatIsPublished) {
  PublicationWorld world({.keep = {.entries = 300}, .stale_window = 64});
  world.lead(1);
  load_steadily(world, 10);
  const std::uint64_t signed_size = world.node(3).last_signed.size;
  ASSERT_GT(signed_size, 0u);
  world.node(3).behind_entries = 1'000'000;
  load_steadily(world, 400);
  EXPECT_GT(world.node(3).counter("heads_let_go_total"), 0u);
  expect_level(world);
  // It is bound to what it let go of, also when it starts again, and signs once it can.
  EXPECT_GT(world.node(3).last_signed.size, signed_size);
  world.node(3).stop();
  world.node(3).start();
  load_steadily(world, 200);
  expect_level(world);
  world.node(3).behind_entries = 0;
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(1000);
  EXPECT_EQ(world.node(3).last_signed.size, world.node(3).log->size());
  EXPECT_TRUE(world.node(3).alarms.empty());
}

// What a node let go of before it compared it is compared all the same, in newer heads.
TEST(PublicationPruning, ADifferenceBelowWhatWasLetGoOfIsFoundAllTheSame) {
  PublicationWorld world({.keep = {.entries = 300}, .stale_window = 64});
  world.lead(1);
  load_steadily(world, 10);
  world.node(3).behind_entries = 1'000'000;
  const std::uint64_t wrong = world.node(3).trees[2]->size() + 5;
  world.node(3).applies_instead[{2, wrong}] = bytes_of("another");
  load_steadily(world, 400);
  ASSERT_GT(world.node(3).counter("heads_let_go_total"), 0u);
  EXPECT_TRUE(world.node(3).quarantined.empty());
  world.node(3).behind_entries = 0;
  world.run(5000);
  ASSERT_EQ(world.node(3).quarantined.size(), 1u);
  EXPECT_EQ(world.node(3).quarantined.front().shard, ShardId{2});
  EXPECT_EQ(world.node(3).quarantined.front().index, wrong);
}

TEST(PublicationPruning, ANodeThatHearsOfARoundsSignaturesBehindTheNextRoundPrunesAsTheOthersDo) {
  PublicationWorld world({.keep = {.entries = 300}, .stale_window = 64});
  world.lead(1);
  load_steadily(world, 10);
  world.node(3).late_ms = 900;
  load_steadily(world, 400);
  EXPECT_LT(world.node(3).newest.size, world.node(3).log->size());
  EXPECT_GT(world.node(3).log->size(), 1200u);
  expect_level(world);
}

}  // namespace
}  // namespace gcoord::server
