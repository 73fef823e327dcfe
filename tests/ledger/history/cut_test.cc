// Taking shards back in the store: what goes, what stays, and what it costs.
#include "ledger/history/cut.h"

#include "common/random.h"
#include "tests/ledger/history/history_stores.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr std::uint32_t kShards = 60;
constexpr std::uint64_t kSize = 700;  // Three tiles of entries, one of nodes over them.

// What some shards have in a store: fragments that begin anywhere, peaks of every fourth.
HistoryBatch some_shards(std::uint64_t seed) {
  HistoryBatch batch;
  const auto bytes = std::as_bytes(std::span{"thing"});
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    batch.put_head(ShardId{shard}, {});
    if (shard % 4 == 1) {
      batch.put_peak(ShardId{shard}, 8, random64(seed, 1, shard) % 3, MerkleHash{});
    }
    for (std::uint32_t k = 0; shard % 3 != 0 && k < 12; ++k) {
      const std::uint64_t draw = random64(seed, 2, shard * 12 + k);
      const auto level = static_cast<std::uint32_t>(draw % 3);
      batch.begin_fragment({ShardId{shard}, level, (draw >> 8) % ((kSize >> (8 * level)) + 1)});
      batch.add(bytes);
    }
  }
  return batch;
}

std::set<std::string> keys_of(const HistoryStore& store) {
  std::set<std::string> keys;
  EXPECT_TRUE(store
                  .scan("",
                        "\xff",
                        [&keys](std::string_view key, std::span<const std::byte>) {
                          keys.emplace(key);
                          return true;
                        })
                  .ok());
  return keys;
}

// The keys that go when these shards are taken back to these sizes, key by key.
std::set<std::string> left_of(const std::set<std::string>& keys,
                              const std::map<std::uint32_t, std::uint64_t>& cuts) {
  std::set<std::string> left;
  for (const std::string& key : keys) {
    const auto place = tile_place(key);
    bool goes = false;
    for (const auto& [shard, size] : cuts) {
      const bool beyond = place && place->shard.value == shard &&
                          place->index >= size >> (kTileLevels * place->tile_level);
      const bool peak = size == 0 && key >= peak_key(ShardId{shard}, 0, 0) &&
                        key < peak_key(ShardId{shard}, 64, 0);
      goes = goes || beyond || peak;
    }
    if (!goes) {
      left.insert(key);
    }
  }
  return left;
}

void expect_cut(HistoryStore& store, std::uint64_t seed) {
  ASSERT_TRUE(store.write(some_shards(seed)).ok());
  const std::set<std::string> before = keys_of(store);
  std::map<std::uint32_t, std::uint64_t> cuts;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const std::uint64_t draw = random64(seed, 3, shard);
    if (draw % 3 != 0) {
      cuts[shard] = draw % 3 == 1 ? 0 : (draw >> 8) % (kSize + 1);
    }
  }
  HistoryCut cut(store);
  HistoryBatch batch;
  for (const auto& [shard, size] : cuts) {
    ASSERT_TRUE(cut.remove_from(ShardId{shard}, size, batch).ok());
  }
  ASSERT_TRUE(store.write(batch).ok());
  const std::set<std::string> left = keys_of(store);
  EXPECT_EQ(left, left_of(before, cuts)) << "seed " << seed;
  EXPECT_LT(left.size(), before.size());
}

class HistoryCutFrom : public testing::TestWithParam<HistoryPlace> {};

INSTANTIATE_TEST_SUITE_P(A, HistoryCutFrom, kHistoryPlaces, history_place_name);

TEST_P(HistoryCutFrom, TakesWhatLiesBeyondAndNothingElse) {
  const std::uint64_t seeds = GetParam() == HistoryPlace::Memory ? 40 : 3;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    expect_cut(*make_histories(GetParam())->open(kShards), seed);
  }
}

// Counts the moves of one cursor that are not a step to the next key.
class CountingCursor final : public HistoryCursor {
 public:
  CountingCursor(std::unique_ptr<HistoryCursor> inner, std::uint64_t& searches)
      : inner_(std::move(inner)), searches_(searches) {}

  void go_to(const std::string& key) override {
    searches_ += !begun_ || (inner_->valid() && inner_->key() < key) ? 1 : 0;
    begun_ = true;
    inner_->go_to(key);
  }

  void next() override { inner_->next(); }

  bool valid() const override { return inner_->valid(); }

  std::string_view key() const override { return inner_->key(); }

  Status status() const override { return inner_->status(); }

 private:
  std::unique_ptr<HistoryCursor> inner_;
  std::uint64_t& searches_;
  bool begun_ = false;
};

class CountingStore final : public HistoryStore {
 public:
  explicit CountingStore(HistoryMedium& medium) : inner_(open_memory_history_store(medium)) {}

  Status write(const HistoryBatch& batch) override { return inner_->write(batch); }

  Status scan(const std::string& first,
              const std::string& end,
              const Visitor& visitor) const override {
    return inner_->scan(first, end, visitor);
  }

  std::unique_ptr<HistoryCursor> cursor() const override {
    return std::make_unique<CountingCursor>(inner_->cursor(), searches);
  }

  Result<std::optional<std::vector<std::byte>>> get(const std::string& key) const override {
    return inner_->get(key);
  }

  void set_horizon(ShardId shard, std::uint64_t first) override {
    inner_->set_horizon(shard, first);
  }

  void reclaim() override { inner_->reclaim(); }

  std::uint64_t disk_bytes() const override { return inner_->disk_bytes(); }

  mutable std::uint64_t searches = 0;

 private:
  std::unique_ptr<HistoryStore> inner_;
};

// Found with a million shards on GPUs in memory mode, where every restart takes all of them back to
// nothing: nine searches a shard took 70 s.
TEST(HistoryCut, TakingAllShardsBackToNothingIsOnePass) {
  HistoryMedium medium;
  CountingStore store(medium);
  ASSERT_TRUE(store.write(some_shards(7)).ok());
  HistoryCut cut(store);
  HistoryBatch batch;
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    ASSERT_TRUE(cut.remove_from(ShardId{shard}, 0, batch).ok());
  }
  ASSERT_TRUE(store.write(batch).ok());
  EXPECT_EQ(store.searches, 2u);
  for (const std::string& key : keys_of(store)) {
    EXPECT_TRUE(head_place(key).has_value());
  }
}

}  // namespace
}  // namespace gcoord::ledger
