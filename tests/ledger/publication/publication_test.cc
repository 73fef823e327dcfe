#include "ledger/publication/publication.h"

#include "tests/ledger/publication/publication_world.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLongMs = 20'000;

TEST(Publication, PublishesWhatIsDecidedWithinASecond) {
  PublicationWorld world({});
  world.lead(1);
  world.run(1000);  // Keys are decided.
  for (int round = 0; round < 20; ++round) {
    world.decide(1, "a" + std::to_string(round));
    world.decide(3, "b" + std::to_string(round));
    const auto took = world.settle(kLongMs);
    ASSERT_TRUE(took);
    EXPECT_LE(*took, 1000u);
  }
  for (auto& node : world.all()) {
    EXPECT_EQ(node->newest.size, world.reference().size());
    EXPECT_EQ(node->newest.root, ledger::root_at(world.reference(), node->newest.size).value());
    EXPECT_TRUE(node->alarms.empty());
    EXPECT_EQ(node->counter("messages_dropped_total"), 0u);
  }
}

TEST(Publication, RestsWhenNothingIsDecided) {
  PublicationWorld world({});
  world.lead(2);
  world.decide(0, "once");
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(1000);
  const std::uint64_t rounds = world.rounds_taken();
  world.run(10'000);
  EXPECT_EQ(world.rounds_taken(), rounds);
}

TEST(Publication, ManyShardsAtOnceTakeSeveralRounds) {
  PublicationWorld world({.shard_count = 3000, .round_heads_max = 1500});
  world.lead(1);
  for (std::uint32_t shard = 0; shard < 3000; ++shard) {
    world.decide(shard, std::to_string(shard));
  }
  ASSERT_TRUE(world.settle(kLongMs));
  // Each shard once, cut into entries.
  EXPECT_GE(world.reference().size(), 3000u);
  EXPECT_LE(world.reference().size(), 3002u);
}

// As where the log lies on a device. Messages are lost, and leadership moves in the middle.
TEST(Publication, ARoundGoesInSmallEntriesOneAfterTheOther) {
  PublicationWorld world(
      {.shard_count = 300, .loss_percent = 5, .entry_heads_max = 20, .entries_under_way = 1});
  world.lead(1);
  for (std::uint32_t shard = 0; shard < 300; ++shard) {
    world.decide(shard, std::to_string(shard));
  }
  world.run(300);
  world.lead(2);
  ASSERT_TRUE(world.settle(kLongMs));
  EXPECT_GE(world.rounds_taken(), 15u);
}

// As where clients fill the log of shard 0, and leave room for small entries alone.
TEST(Publication, WhereLargeEntriesFindNoRoomSmallerOnesAreMadeUntilThereIsRoomAgain) {
  PublicationWorld world({.shard_count = 100,
                          .entry_heads_max = 20,
                          .entries_under_way = 1,
                          .shrinks_lost_entries = true});
  const auto decide_all = [&world](const std::string& what) {
    for (std::uint32_t shard = 0; shard < 100; ++shard) {
      world.decide(shard, what);
    }
  };
  world.lead(1);
  for (const std::size_t most : {20, 7, 1}) {
    world.take_heads(most);
    decide_all(std::to_string(most));
    ASSERT_TRUE(world.settle(kLongMs)) << most;
  }
  EXPECT_GE(world.rounds_taken(), 5u + 20u + 100u);
  world.take_heads(20);
  for (int k = 0; k < 5; ++k) {
    decide_all("again");
    ASSERT_TRUE(world.settle(kLongMs)) << k;
  }
  const std::uint64_t before = world.rounds_taken();
  decide_all("last");
  ASSERT_TRUE(world.settle(kLongMs));
  EXPECT_LE(world.rounds_taken(), before + 5);
}

// A node that has thousands of heads to hold against its trees answers others in between: while it
// does not, nothing that it has could be agreed with it, and it stays behind.
TEST(Publication, ANodeThatComesBackComparesALittleAtATime) {
  PublicationWorld world({.shard_count = 3000});
  world.lead(1);
  world.cut(3);
  for (std::uint32_t shard = 0; shard < 3000; ++shard) {
    world.decide(shard, std::to_string(shard));
  }
  world.run(5000);
  ASSERT_GE(world.node(1).publication->view().published_size, 3000u);
  world.mend(3);
  std::uint64_t before = world.node(3).counter("heads_compared_total");
  std::uint64_t most = 0;
  for (std::uint32_t ms = 0; ms < 3000; ++ms) {
    world.run(1);
    const std::uint64_t now = world.node(3).counter("heads_compared_total");
    most = std::max(most, now - before);
    before = now;
  }
  EXPECT_GE(before, 3000u) << "and not one look in twenty milliseconds, while there is more";
  EXPECT_LE(most, 256u);
}

TEST(Publication, GoesOnOverLossLagAndRestarts) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::uint32_t node_count = seed % 2 == 0 ? 3 : 5;
    PublicationWorld world({.node_count = node_count,
                            .shard_count = 6,
                            .seed = seed,
                            .loss_percent = static_cast<std::uint32_t>(seed % 4) * 10,
                            .lag_percent = static_cast<std::uint32_t>(seed % 3) * 30});
    world.lead(1);
    for (std::uint32_t round = 0; round < 60; ++round) {
      const auto word = random64(seed, 11, round);
      world.decide(random_below(word, 6), std::to_string(round));
      const std::uint32_t id = 1 + random_below(mix64(word), node_count);
      if (round % 7 == 3) {
        world.lead(id);
      } else if (round % 11 == 5) {
        world.node(id).stop();
        world.run(random_below(word, 700));
        world.node(id).start();
      } else if (round % 13 == 7) {
        world.cut(id);
        world.run(random_below(word, 1500));
        world.mend(id);
      }
      world.run(random_below(mix64(word + 1), 200));
    }
    ASSERT_TRUE(world.settle(kLongMs)) << "seed " << seed;
    for (auto& node : world.all()) {
      EXPECT_TRUE(node->failure.ok()) << node->failure.to_string();
      EXPECT_TRUE(node->quarantined.empty()) << "seed " << seed;
      EXPECT_TRUE(node->refusal.ok());
    }
  }
}

TEST(Publication, OfTwoPublishersTheLogTakesOne) {
  PublicationWorld world({.seed = 5});
  world.lead(1);
  world.believe(3, true);
  world.let_everybody_propose();
  for (int round = 0; round < 60; ++round) {
    world.decide(2, std::to_string(round));
    world.run(90);
  }
  EXPECT_TRUE(world.settle(kLongMs));
  EXPECT_GT(world.rounds_refused(), 0u);
  for (auto& node : world.all()) {
    EXPECT_TRUE(node->alarms.empty());
    EXPECT_TRUE(node->failure.ok());
  }
}

TEST(Publication, AReplicaWithAnotherEntryIsNamedByShardAndIndexAndSignsNothing) {
  for (const std::uint32_t publisher : {1u, 2u, 3u}) {
    PublicationWorld world({.shard_count = 3, .seed = publisher});
    world.node(2).applies_instead[{1, 300}] = bytes_of("another");
    world.lead(publisher);
    for (int k = 0; k < 300; ++k) {
      world.decide(1, std::to_string(k));
    }
    ASSERT_TRUE(world.settle(kLongMs));
    EXPECT_TRUE(world.node(2).quarantined.empty());
    const std::uint64_t was_signed = world.node(2).last_signed.size;
    for (int k = 300; k < 400; ++k) {
      world.decide(1, std::to_string(k));
    }
    world.run(5000);
    const auto& quarantined = world.node(2).quarantined;
    ASSERT_EQ(quarantined.size(), 1u) << "publisher " << publisher;
    EXPECT_EQ(quarantined.front().node, NodeId{2});
    EXPECT_EQ(quarantined.front().shard, ShardId{1});
    EXPECT_EQ(quarantined.front().index, 300u);
    EXPECT_EQ(world.node(2).last_signed.size, was_signed);
    ASSERT_FALSE(world.node(1).quarantined.size() + world.node(3).quarantined.size());
    for (const std::uint32_t other : {1u, 3u}) {
      ASSERT_EQ(world.node(other).alarms.size(), 1u);
      EXPECT_EQ(world.node(other).alarms.front().shard, ShardId{1});
      EXPECT_EQ(world.node(other).alarms.front().index, 300u);
      EXPECT_EQ(world.node(other).alarms.front().node, NodeId{2});
    }
    // The others go on; a publisher that is in the minority gives way to another leader.
    world.lead(publisher == 2 ? 1 : publisher);
    world.decide(0, "more");
    world.run(3000);
    EXPECT_EQ(world.node(1).newest.size, world.reference().size());

    // Repaired: another life on the majority's history, which signs again.
    world.node(2).applies_instead.clear();
    world.node(2).trees[1] = std::make_shared<ledger::MemoryTree>();
    world.node(2).quarantined.clear();
    world.node(2).stop();
    world.node(2).start();
    world.decide(1, "after");
    ASSERT_TRUE(world.settle(kLongMs));
    world.run(200);
    EXPECT_EQ(world.node(2).last_signed.size, world.reference().size());
    EXPECT_TRUE(world.node(2).quarantined.empty());
  }
}

TEST(Publication, ADamagedHistoryIsNamedOnceAndErasesNoShard) {
  for (const std::uint32_t publisher : {1u, 2u}) {
    PublicationWorld world({.shard_count = 3, .seed = publisher});
    world.lead(publisher);
    world.decide(1, "a");
    ASSERT_TRUE(world.settle(kLongMs));
    world.run(1000);  // All have signed.
    world.node(2).damaged.insert(1);
    const std::uint64_t was_signed = world.node(2).last_signed.size;
    for (int k = 0; k < 10; ++k) {
      world.decide(1, std::to_string(k));
      world.decide(2, std::to_string(k));
      world.run(1500);
    }
    EXPECT_TRUE(world.node(2).quarantined.empty());
    ASSERT_EQ(world.node(2).alarms.size(), 1u) << "publisher " << publisher;
    EXPECT_TRUE(world.node(2).alarms.front().unconfirmed);
    EXPECT_EQ(world.node(2).alarms.front().shard, ShardId{1});
    EXPECT_EQ(world.node(2).last_signed.size, was_signed);
    // The others go on.
    EXPECT_TRUE(world.node(1).quarantined.empty());
    EXPECT_EQ(world.node(1).newest.size, world.reference().size());
    EXPECT_EQ(world.node(1).publication->head(ShardId{2}).size, 10u);
  }
}

TEST(Publication, ASingleNodeErasesNothingAsNobodyElseHasIt) {
  PublicationWorld world({.node_count = 1});
  world.lead(1);
  world.decide(1, "a");
  ASSERT_TRUE(world.settle(kLongMs));
  world.node(1).stop();
  world.node(1).trees[1] = std::make_shared<ledger::MemoryTree>();
  world.node(1).trees[1]->append(bytes_of("b"));
  world.node(1).start();
  world.run(30'000);
  EXPECT_TRUE(world.node(1).quarantined.empty());
  ASSERT_EQ(world.node(1).alarms.size(), 1u);
  EXPECT_TRUE(world.node(1).alarms.front().unconfirmed);
}

TEST(Publication, ADifferenceThatNoOtherNodeShowsErasesNothingUntilOneDoes) {
  PublicationWorld world({});
  world.lead(1);
  world.decide(1, "a");
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(1000);
  world.cut(3);
  world.node(3).stop();
  world.node(3).trees[1] = std::make_shared<ledger::MemoryTree>();
  world.node(3).trees[1]->append(bytes_of("b"));
  world.node(3).start();
  world.run(3000);
  EXPECT_TRUE(world.node(3).quarantined.empty());
  ASSERT_EQ(world.node(3).alarms.size(), 1u);
  EXPECT_TRUE(world.node(3).alarms.front().unconfirmed);
  world.mend(3);
  world.run(30'000);
  ASSERT_EQ(world.node(3).quarantined.size(), 1u);
  EXPECT_EQ(world.node(3).quarantined.front().index, 0u);
}

TEST(Publication, WithoutAMajorityForAHeadNobodyIsBlamedAndTheRestIsPublished) {
  PublicationWorld world({.shard_count = 3});
  world.node(2).applies_instead[{1, 0}] = bytes_of("second");
  world.node(3).applies_instead[{1, 0}] = bytes_of("third");
  world.lead(1);
  world.decide(1, "first");
  world.decide(2, "other");
  world.run(5000);
  EXPECT_EQ(world.node(1).newest.size, world.reference().size());
  EXPECT_GT(world.reference().size(), 0u);
  ASSERT_FALSE(world.node(1).alarms.empty());
  EXPECT_EQ(world.node(1).alarms.front().node, NodeId{0});
  EXPECT_EQ(world.node(1).alarms.front().shard, ShardId{1});
  for (auto& node : world.all()) {
    EXPECT_TRUE(node->quarantined.empty());
    EXPECT_EQ(node->publication->head(ShardId{1}).size, 0u);
    EXPECT_GT(node->publication->head(ShardId{2}).size, 0u);
  }
}

TEST(Publication, NodesThatCannotReadTheirTreesAreNoMajorityAgainstThePublisher) {
  ledger::MerkleHash root{};
  root[0] = std::byte{1};
  PublicationRound round(
      {.self = NodeId{1}, .nodes = {NodeId{1}, NodeId{2}, NodeId{3}}, .batch = 1, .begin_ms = 1},
      {{ShardId{1}, 7, root}});
  for (const std::uint32_t node : {2u, 3u}) {
    EXPECT_TRUE(round.on_verdict(NodeId{node}, {1, 0, {{0, HeadVerdict::Differs, {}}}}));
  }
  EXPECT_EQ(round.outcome(2), PublicationRound::Outcome::Split);
  ASSERT_EQ(round.disputes().size(), 1u);
  EXPECT_FALSE(round.disputes().front().majority_root);
  EXPECT_FALSE(round.disputes().front().differs);
}

// Only a publisher's rounds begin with news of sizes.
TEST(Publication, SizesLieLongerWhereNoRoundBeginsWithThem) {
  PublicationWorld world({});
  world.lead(1);
  world.run(1000);
  const auto& publisher = *world.node(1).publication;
  const auto& other = *world.node(2).publication;
  EXPECT_EQ(publisher.sizes_wait_ms(500), publisher.sizes_wait_ms(1));
  EXPECT_EQ(other.sizes_wait_ms(1), publisher.sizes_wait_ms(1));  // It has work to go on with.
  EXPECT_EQ(other.sizes_wait_ms(500), Publication::kStepMs);
  EXPECT_GT(other.sizes_wait_ms(500), publisher.sizes_wait_ms(500));
}

TEST(Publication, FlippedBitsInMessagesAreDroppedAndCounted) {
  PublicationWorld world({.shard_count = 900, .seed = 3});
  world.lead(1);
  world.run(1500);
  world.flip_messages(60);
  for (std::uint32_t shard = 0; shard < 900; ++shard) {
    world.decide(shard, "x" + std::to_string(shard));
  }
  ASSERT_TRUE(world.settle(kLongMs));
  std::uint64_t dropped = 0;
  for (auto& node : world.all()) {
    dropped += node->counter("messages_dropped_total");
    EXPECT_TRUE(node->alarms.empty());
    EXPECT_EQ(node->counter("signatures_refused_total"), 0u);
  }
  EXPECT_GT(dropped, 0u);
}

TEST(Publication, ANodeThatSignedMoreThanThereIsRefusesUntilThereIs) {
  PublicationWorld world({});
  world.lead(1);
  world.decide(1, "a");
  ASSERT_TRUE(world.settle(kLongMs));
  // Its signer remembers a larger log than the cluster, which came back from a backup, has.
  world.node(3).last_signed.size += 1000;
  world.decide(1, "b");
  world.run(3000);
  EXPECT_EQ(world.node(3).refusal.detail(), ledger::kSignerBehind);
  EXPECT_EQ(world.node(3).publication->view().refusal.detail(), ledger::kSignerBehind);
  EXPECT_FALSE(world.node(1).newest.signatures.contains(NodeId{3}));
  EXPECT_EQ(world.node(1).newest.size, world.reference().size());
}

TEST(Publication, ANodeThatSignedAnotherLogRefuses) {
  PublicationWorld world({});
  world.lead(1);
  world.decide(1, "a");
  ASSERT_TRUE(world.settle(kLongMs));
  world.node(2).last_signed.root[5] ^= std::byte{1};
  world.decide(1, "b");
  world.run(3000);
  EXPECT_EQ(world.node(2).refusal.detail(), ledger::kSignerContradiction);
  EXPECT_FALSE(world.node(1).newest.signatures.contains(NodeId{2}));
}

TEST(Publication, ANodeThatGotASnapshotTakesTheLeavesWithAProof) {
  PublicationWorld world({.shard_count = 2000});
  world.lead(1);
  world.run(1500);
  world.cut(3);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t shard = 0; shard < 2000; ++shard) {
      world.decide(shard, std::to_string(round));
    }
    world.run(3000);
  }
  EXPECT_EQ(world.node(3).log->size(), 0u);
  world.take_snapshot(3, 2);
  world.mend(3);
  world.decide(7, "last");
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(200);
  EXPECT_GT(world.node(3).counter("leaves_fetched_total"), 2000u);
  EXPECT_EQ(world.node(3).counter("leaves_refused_total"), 0u);
  EXPECT_EQ(world.node(3).last_signed.size, world.reference().size());
}

TEST(Publication, ManyEntriesOfARoundSurviveLossAndAChangeOfPublisher) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    PublicationWorld world({.shard_count = 4000, .seed = seed, .loss_percent = 20});
    world.lead(1);
    for (std::uint32_t shard = 0; shard < 4000; ++shard) {
      world.decide(shard, std::to_string(shard));
    }
    world.run(300 + 40 * seed);
    world.lead(2);
    ASSERT_TRUE(world.settle(2 * kLongMs)) << seed;
    for (auto& node : world.all()) {
      EXPECT_TRUE(node->failure.ok());
      EXPECT_TRUE(node->alarms.empty());
    }
  }
}

TEST(Publication, AClusterLogThatRottedStopsTheNodeAndAccusesNoShard) {
  PublicationWorld world({});
  world.lead(1);
  world.decide(1, "a");
  ASSERT_TRUE(world.settle(kLongMs));
  world.node(3).stop();
  ledger::MemoryDisk disk;
  auto other = ledger::ClusterLog::open(disk, 0, PublicationWorld::kSegmentLeaves).value();
  for (std::uint64_t at = 0; at < world.node(3).log->size(); ++at) {
    auto leaf = world.node(3).log->entries(at, 1).value().front();
    leaf.back() ^= std::byte{at == 0};
    ASSERT_TRUE(other->append({{ledger::decode_head(leaf).value()}}).ok());
  }
  const auto kept = std::exchange(world.node(3).log, std::move(other));
  world.node(3).start();
  world.run(1000);
  EXPECT_EQ(world.node(3).failure.detail(), ledger::kClusterLogRot);
  EXPECT_TRUE(world.node(3).quarantined.empty());
  world.node(3).stop();
}

// As load_one_shard, while a node is cut off.
void load_one_shard_without(PublicationWorld& world, std::uint32_t cut, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    world.decide(1, std::to_string(round) + " without " + std::to_string(cut));
    world.run(300);
  }
}

// One shard changes all the time.
void load_one_shard(PublicationWorld& world, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    world.decide(1, std::to_string(round));
    ASSERT_TRUE(world.settle(kLongMs)) << round;
  }
}

TEST(Publication, ThePrunedClusterLogLevelsOffAndKeepsTheNewestHeadOfEachShard) {
  PublicationWorld world({.keep = {.entries = 300}, .stale_window = 64});
  world.lead(1);
  for (const std::uint32_t idle : {0u, 2u, 3u}) {
    world.decide(idle, "once");
  }
  load_one_shard(world, 800);
  world.run(2500);
  for (auto& node : world.all()) {
    const ledger::ClusterLog& log = *node->log;
    EXPECT_GT(log.size(), 800u);
    EXPECT_GE(log.first(), log.size() - 300 - 2 * PublicationWorld::kSegmentLeaves);
    EXPECT_LE(log.first(), log.size() - 300);
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      EXPECT_GE(node->publication->head(ShardId{shard}).leaf, log.first()) << shard;
    }
    EXPECT_EQ(ledger::root_at(log, log.size()).value(),
              ledger::root_at(world.reference(), log.size()).value());
    EXPECT_TRUE(node->failure.ok()) << node->failure.message();
    EXPECT_EQ(node->last_signed.size, log.size());
  }
  // What was published again makes nothing stale: the log rests.
  const std::uint64_t size = world.node(1).log->size();
  world.run(2000);
  EXPECT_EQ(world.node(1).log->size(), size);
}

TEST(Publication, ANodeWithoutAClusterLogBeginsWhereTheOthersKeepTheirs) {
  PublicationWorld world({.keep = {.entries = 256}, .stale_window = 64});
  world.lead(1);
  world.cut(3);
  load_one_shard_without(world, 3, 1200);
  ASSERT_GT(world.node(1).log->first(), 0u);
  ASSERT_EQ(world.node(3).log->size(), 0u);
  world.take_snapshot(3, 2);
  world.mend(3);
  world.decide(2, "last");
  ASSERT_TRUE(world.settle(kLongMs));
  world.run(500);
  EXPECT_GT(world.node(3).log->first(), 0u);
  EXPECT_EQ(world.node(3).counter("leaves_refused_total"), 0u);
  EXPECT_EQ(world.node(3).last_signed.size, world.node(1).log->size());
  EXPECT_TRUE(world.node(3).failure.ok());
}

TEST(Publication, ANodeThatSignedBelowTheOthersHorizonRefusesToSignAndGoesOn) {
  PublicationWorld world({.keep = {.entries = 256}, .stale_window = 64});
  world.lead(1);
  world.run(3000);  // For the keys.
  load_one_shard(world, 3);
  world.run(1000);
  ASSERT_GT(world.node(3).last_signed.size, 0u);
  const std::uint64_t signed_size = world.node(3).last_signed.size;
  world.cut(3);
  load_one_shard_without(world, 3, 1200);
  world.take_snapshot(3, 2);
  world.mend(3);
  world.decide(2, "last");
  world.run(3000);
  EXPECT_EQ(world.node(3).refusal.detail(), ledger::kSignerHorizon);
  EXPECT_EQ(world.node(3).last_signed.size, signed_size);
  EXPECT_TRUE(world.node(3).failure.ok());
  EXPECT_EQ(world.node(1).newest.size, world.node(1).log->size());
}

}  // namespace
}  // namespace gcoord::server
