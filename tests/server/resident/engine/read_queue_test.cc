// Reads that wait to be asked of a device, and those that it has proved.
#include "server/resident/engine/read_queue.h"

#include "server/resident/engine/proved_reads.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using consensus::ReadProof;

constexpr ShardId kShard{3};
constexpr ShardId kOther{5};
constexpr auto kLease = ReadProof::LeaseOrRound;

TEST(ReadQueue, ReadsThatHaveNotGoneAreShared) {
  ReadQueue queue(8);
  EXPECT_EQ(queue.share(kShard, kLease), 0u);
  queue.add({kShard, 11, kLease});
  EXPECT_EQ(queue.share(kShard, kLease), 11u);
  EXPECT_EQ(queue.share(kOther, kLease), 0u);
  const auto gone = queue.take();
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->shard, kShard);
  EXPECT_EQ(gone->tag, 11u);
  EXPECT_EQ(gone->proof, kLease);
  EXPECT_EQ(queue.share(kShard, kLease), 0u) << "its proof may be older than who comes now";
  EXPECT_FALSE(queue.take().has_value());
}

TEST(ReadQueue, WhoWantsARoundGetsOneForAllThatShareIt) {
  ReadQueue queue(8);
  queue.add({kShard, 11, kLease});
  EXPECT_EQ(queue.share(kShard, ReadProof::Round), 11u);
  EXPECT_EQ(queue.share(kShard, kLease), 11u);
  EXPECT_EQ(queue.take()->proof, ReadProof::Round);
  queue.on_end(kShard, 11);
  queue.add({kShard, 12, kLease});
  EXPECT_EQ(queue.take()->proof, kLease) << "the next one is of its own";
}

TEST(ReadQueue, OneOfAShardIsUnderWayAndTheNextGoesWhenItEnds) {
  ReadQueue queue(8);
  queue.add({kShard, 11, ReadProof::Round});
  EXPECT_EQ(queue.take()->tag, 11u);
  queue.add({kShard, 12, kLease});
  queue.add({kOther, 13, kLease});
  EXPECT_EQ(queue.take()->tag, 13u) << "another shard's does not wait";
  EXPECT_FALSE(queue.take().has_value());
  EXPECT_EQ(queue.share(kShard, kLease), 12u);
  queue.on_end(kShard, 11);
  EXPECT_EQ(queue.take()->tag, 12u);
}

TEST(ReadQueue, OneThatEndsBeforeItWentNeverGoes) {
  ReadQueue queue(8);
  queue.add({kShard, 11, kLease});
  queue.on_end(kShard, 11);
  EXPECT_FALSE(queue.take().has_value());
  queue.add({kShard, 12, kLease});
  queue.on_end(kShard, 11);  // It has ended already.
  EXPECT_EQ(queue.take()->tag, 12u);
  queue.add({kShard, 13, kLease});
  queue.on_end(kShard, 13);
  queue.on_end(kShard, 12);
  EXPECT_FALSE(queue.take().has_value());
}

TEST(ProvedReads, AreAnsweredOnceTheCopyHasComeThere) {
  ProvedReads reads;
  EXPECT_FALSE(reads.take(kShard, LogIndex{9}).has_value());
  reads.add(kShard, {.tag = 11, .index = LogIndex{7}, .way = ReadWay::Round});
  EXPECT_FALSE(reads.take(kShard, LogIndex{6}).has_value());
  EXPECT_FALSE(reads.take(kOther, LogIndex{7}).has_value());
  const auto read = reads.take(kShard, LogIndex{7});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->tag, 11u);
  EXPECT_EQ(read->way, ReadWay::Round);
  EXPECT_FALSE(reads.take(kShard, LogIndex{9}).has_value());
}

}  // namespace
}  // namespace gcoord::server
