#include "ledger/wal/batch.h"

#include "tests/ledger/replay_log.h"

#include <gtest/gtest.h>

namespace gcoord::ledger {
namespace {

WalBatch batch_of_everything() {
  WalBatch batch;
  batch.hard_state(ShardId{4}, Term{9}, NodeId{2});
  batch.begin_entries(ShardId{5}, LogIndex{10}, 2);
  batch.entry(Term{8}, 1, bytes_of("first"));
  batch.entry(Term{9}, 2, {});
  batch.truncate(ShardId{6}, LogIndex{3});
  batch.snapshot_installed(ShardId{7}, LogIndex{100}, Term{6}, bytes_of("state"));
  batch.commit(ShardId{5}, LogIndex{11});
  return batch;
}

TEST(WalBatch, GivesBackItsItemsInOrder) {
  const WalBatch batch = batch_of_everything();
  EXPECT_EQ(batch.item_count(), 5u);
  EXPECT_EQ(text_of(batch),
            "hard 4 9 2 ;entries 5 10 2 ;entry 5 10 8 first;entry 5 11 9 ;truncate 6 3 0 ;"
            "snapshot 7 100 6 state;commit 5 11 0 ;");
}

TEST(WalBatch, AppendedBatchesReplayOneAfterTheOther) {
  WalBatch both = batch_of(1);
  both.append(batch_of(2));
  EXPECT_EQ(text_of(both), text_of(batch_of(1)) + text_of(batch_of(2)));
}

TEST(WalBatch, IsEmptyAgainAfterClear) {
  WalBatch batch = batch_of_everything();
  batch.clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.item_count(), 0u);
}

TEST(WalBatch, EveryCutIsNoticedUnlessItFallsBetweenItems) {
  const WalBatch batch = batch_of_everything();
  const auto whole = batch.encoded();
  int accepted = 0;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    ReplayLog log;
    accepted += visit_items(whole.first(length), log) ? 1 : 0;
  }
  EXPECT_EQ(accepted, 5);  // Nothing, and the first one, two, three and four items.
}

TEST(WalBatch, HostileLengthsAreRefused) {
  WalBatch batch;
  batch.begin_entries(ShardId{5}, LogIndex{~std::uint64_t{0}}, 0);
  std::vector<std::byte> bytes(batch.encoded().begin(), batch.encoded().end());
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) {
    bytes[i] = std::byte{0xff};  // Four billion entries from the last index on.
  }
  ReplayLog log;
  EXPECT_FALSE(visit_items(bytes, log));
}

TEST(WalBatchDeathTest, MissingAnAnnouncedEntryIsABug) {
  WalBatch batch;
  batch.begin_entries(ShardId{5}, LogIndex{10}, 2);
  batch.entry(Term{8}, 1, {});
  EXPECT_DEATH((void)batch.encoded(), "entries_missing_");
}

}  // namespace
}  // namespace gcoord::ledger
