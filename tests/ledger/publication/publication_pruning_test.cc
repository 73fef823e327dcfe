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

// What a shard's newest head under the log that the node knows to be signed by a majority says.
std::uint64_t signed_size(const PublicationWorld::Node& node, std::uint32_t shard) {
  std::uint64_t size = 0;
  for (std::uint64_t at = node.log->first(); at < node.newest.size; ++at) {
    const auto head = ledger::decode_head(node.log->entries(at, 1).value().front()).value();
    size = head.shard.value == shard ? std::max(size, head.size) : size;
  }
  return size;
}

// A head was taken for published when it was in the log, which a node that is cut off from the
// others' signatures may never see signed: what the newest signed head needs was let go of.
TEST(PublicationPruning, OnlyWhatAMajorityHasSignedCountsAsPublished) {
  PublicationWorld world({.seed = 3, .loss_percent = 30});
  world.lead(1);
  bool ahead = false;  // Some leaf waited for its signatures.
  for (int step = 0; step < 800; ++step) {
    if (step % 20 == 0) {
      world.decide(static_cast<std::uint32_t>(step / 20 % 4), std::to_string(step));
    }
    world.run(PublicationWorld::kStepMs);
    for (auto& node : world.all()) {
      ahead = ahead || node->newest.size < node->log->size();
      for (std::uint32_t shard = 0; shard < 4; ++shard) {
        ASSERT_EQ(node->publication->published_sizes()->at(ShardId{shard}),
                  signed_size(*node, shard))
            << "step " << step << " shard " << shard;
      }
    }
  }
  EXPECT_TRUE(ahead);
  ASSERT_TRUE(world.settle(kLongMs));
  EXPECT_GT(world.node(2).publication->published_sizes()->at(ShardId{3}), 0u);
}

TEST(PublicationPruning, AfterARestartNothingCountsAsPublishedBeforeAMajorityHasSignedAgain) {
  PublicationWorld world({});
  world.lead(1);
  world.decide(2, "once");
  ASSERT_TRUE(world.settle(kLongMs));
  world.node(3).stop();
  world.cut(3);
  world.node(3).newest = {};
  world.node(3).start();
  world.run(2000);
  EXPECT_EQ(world.node(3).publication->published_sizes()->at(ShardId{2}), 0u);
  EXPECT_EQ(world.node(3).publication->head(ShardId{2}).size, 1u);
  world.mend(3);
  ASSERT_TRUE(world.settle(kLongMs));
  EXPECT_EQ(world.node(3).publication->published_sizes()->at(ShardId{2}), 1u);
}

}  // namespace
}  // namespace gcoord::server
