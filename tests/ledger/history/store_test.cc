// The contract of a history store, which the simulator's keeps as the real one does.
#include "ledger/history/store.h"

#include "tests/ledger/history/history_stores.h"

#include <string>
#include <vector>

namespace gcoord::ledger {
namespace {

using Keys = std::vector<std::string>;

class HistoryContract : public testing::TestWithParam<HistoryPlace> {
 protected:
  std::unique_ptr<HistoryStore> open() { return histories_->open(4); }

 private:
  std::unique_ptr<Histories> histories_ = make_histories(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Of, HistoryContract, kHistoryPlaces, history_place_name);

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text});
}

// A head and a fragment of two things for each of these shards.
HistoryBatch batch_of(std::initializer_list<std::uint32_t> shards) {
  HistoryBatch batch;
  for (const std::uint32_t shard : shards) {
    batch.begin_fragment({ShardId{shard}, 0, 7});
    batch.add(bytes_of("seven"));
    batch.add(bytes_of("eight"));
    HistoryHead head;
    head.bytes = shard;
    batch.put_head(ShardId{shard}, head);
  }
  return batch;
}

Keys keys_of(const HistoryStore& store, const std::string& first, const std::string& end) {
  Keys keys;
  const Status scanned =
      store.scan(first, end, [&](std::string_view key, std::span<const std::byte>) {
        keys.emplace_back(key);
        return true;
      });
  EXPECT_TRUE(scanned.ok()) << scanned.message();
  return keys;
}

TEST_P(HistoryContract, ValuesComeBackAfterReopening) {
  ASSERT_TRUE(open()->write(batch_of({1, 2})).ok());
  const auto store = open();
  const auto head = store->get(head_key(ShardId{2})).value();
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(decode_history_head(ShardId{2}, *head).value().bytes, 2u);
  EXPECT_FALSE(store->get(head_key(ShardId{3})).value().has_value());
  const auto fragment = store->get(tile_key(ShardId{1}, 0, 7)).value();
  ASSERT_TRUE(fragment.has_value());
  FragmentReader things({ShardId{1}, 0, 7}, *fragment);
  EXPECT_TRUE(std::ranges::equal(things.next().value(), bytes_of("seven")));
  EXPECT_EQ(things.index(), 8u);
  EXPECT_TRUE(std::ranges::equal(things.next().value(), bytes_of("eight")));
  EXPECT_TRUE(things.at_end());
}

TEST_P(HistoryContract, AScanSeesARangeInOrderUntilItHasEnough) {
  const auto store = open();
  ASSERT_TRUE(store->write(batch_of({3, 1, 2})).ok());
  const Keys tiles = {tile_key(ShardId{1}, 0, 7), tile_key(ShardId{2}, 0, 7)};
  EXPECT_EQ(keys_of(*store, tiles[0], tile_key(ShardId{3}, 0, 7)), tiles);
  Keys seen;
  ASSERT_TRUE(store
                  ->scan("",
                         "\xff",
                         [&](std::string_view key, std::span<const std::byte>) {
                           // RocksDB's store has its format before all others.
                           seen.emplace_back(key);
                           return !head_place(key).has_value();
                         })
                  .ok());
  EXPECT_EQ(seen.back(), head_key(ShardId{1}));
}

TEST_P(HistoryContract, LaterChangesOfABatchCount) {
  const auto store = open();
  ASSERT_TRUE(store->write(batch_of({1})).ok());
  HistoryBatch batch;
  HistoryHead head;
  head.bytes = 99;
  batch.put_head(ShardId{1}, head);
  batch.remove(tile_key(ShardId{1}, 0, 7));
  ASSERT_TRUE(store->write(batch).ok());
  EXPECT_EQ(
      decode_history_head(ShardId{1}, *store->get(head_key(ShardId{1})).value()).value().bytes,
      99u);
  EXPECT_FALSE(store->get(tile_key(ShardId{1}, 0, 7)).value().has_value());
}

TEST_P(HistoryContract, ACursorGoesForwardOnly) {
  const auto store = open();
  ASSERT_TRUE(store->write(batch_of({1, 2})).ok());
  const auto cursor = store->cursor();
  cursor->go_to(head_key(ShardId{2}));
  ASSERT_TRUE(cursor->valid());
  EXPECT_EQ(cursor->key(), head_key(ShardId{2}));
  cursor->go_to(head_key(ShardId{1}));
  EXPECT_EQ(cursor->key(), head_key(ShardId{2})) << "it stays where it is";
  cursor->next();
  ASSERT_TRUE(cursor->valid());
  EXPECT_EQ(cursor->key(), tile_key(ShardId{1}, 0, 7));
  cursor->go_to(tile_key(ShardId{3}, 0, 0));
  EXPECT_FALSE(cursor->valid());
  EXPECT_TRUE(cursor->status().ok());
}

TEST_P(HistoryContract, WhatIsNotBelowTheHorizonStays) {
  const auto store = open();
  HistoryBatch batch;
  for (const std::uint64_t index : {0u, 256u, 512u}) {
    batch.begin_fragment({ShardId{1}, 0, index});
    batch.add(bytes_of("thing"));
  }
  ASSERT_TRUE(store->write(batch).ok());
  store->set_horizon(ShardId{1}, 512);
  store->reclaim();
  EXPECT_TRUE(store->get(tile_key(ShardId{1}, 0, 512)).value().has_value());
}

}  // namespace
}  // namespace gcoord::ledger
