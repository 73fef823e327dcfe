#include "consensus/step/row_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace gcoord::consensus {
namespace {

RowMap map_of(std::uint32_t shard_count, const std::vector<std::uint8_t>& slices) {
  return {shard_count, slices.data(), static_cast<std::uint32_t>(slices.size())};
}

std::vector<std::uint8_t> first_slices(std::uint32_t count) {
  std::vector<std::uint8_t> slices;
  for (std::uint32_t slice = 0; slice < count; ++slice) {
    slices.push_back(static_cast<std::uint8_t>(slice));
  }
  return slices;
}

// The rows of a map in the plainest way: the shards of its slices in their order.
std::vector<std::uint32_t> shards_of(std::uint32_t shard_count,
                                     const std::vector<std::uint8_t>& slices) {
  const std::set<std::uint32_t> owned(slices.begin(), slices.end());
  std::vector<std::uint32_t> shards;
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    if (owned.contains(shard % kSlices)) {
      shards.push_back(shard);
    }
  }
  return shards;
}

// Rows are dense and ascend with their shards; every other shard is not here.
void expect_rows(const RowMap& map, const std::vector<std::uint32_t>& shards) {
  RC_ASSERT(map.row_count() == shards.size());
  for (std::uint32_t row = 0; row < map.row_count(); ++row) {
    RC_ASSERT(map.shard_of(row) == ShardId{shards[row]});
  }
  std::uint32_t row = 0;
  for (std::uint32_t shard = 0; shard < map.shard_count() + 2 * kSlices; ++shard) {
    const bool here = row < shards.size() && shards[row] == shard;
    RC_ASSERT(map.row_of(ShardId{shard}) == (here ? row : kNoRow));
    row += here ? 1 : 0;
  }
}

RC_GTEST_PROP(RowMap, RowsAreTheShardsOfItsSlicesInTheirOrder, ()) {
  const auto shard_count = *rc::gen::inRange<std::uint32_t>(1, 5 * kSlices);
  const auto owned =
      *rc::gen::unique<std::vector<std::uint8_t>>(rc::gen::arbitrary<std::uint8_t>());
  std::vector<std::uint8_t> slices = owned;
  std::sort(slices.begin(), slices.end());
  expect_rows(map_of(shard_count, slices), shards_of(shard_count, slices));
}

RC_GTEST_PROP(RowMap, MapsThatShareTheSlicesShareTheShards, (std::uint64_t seed)) {
  const auto shard_count = *rc::gen::inRange<std::uint32_t>(1, 5 * kSlices);
  const auto threads = *rc::gen::inRange<std::uint32_t>(1, 17);
  std::vector<std::vector<std::uint8_t>> slices(threads);
  for (std::uint32_t slice = 0; slice < kSlices; ++slice) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    slices[(seed >> 33) % threads].push_back(static_cast<std::uint8_t>(slice));
  }
  std::uint32_t rows = 0;
  std::vector<RowMap> maps;
  for (const auto& own : slices) {
    maps.push_back(map_of(shard_count, own));
    rows += maps.back().row_count();
  }
  RC_ASSERT(rows == shard_count);
  for (std::uint32_t shard = 0; shard < shard_count; ++shard) {
    const auto holds = [shard](const RowMap& map) { return map.row_of(ShardId{shard}) != kNoRow; };
    RC_ASSERT(std::count_if(maps.begin(), maps.end(), holds) == 1);
  }
}

TEST(RowMap, WithAllSlicesRowAndShardHaveTheSameNumber) {
  for (const std::uint32_t shard_count : {1u, 255u, 256u, 257u, 65536u}) {
    const RowMap given = map_of(shard_count, first_slices(kSlices));
    for (const RowMap& map : {RowMap(shard_count), given}) {
      EXPECT_TRUE(map.holds_all());
      EXPECT_EQ(map.row_count(), shard_count);
      for (const std::uint32_t shard : {0u, shard_count / 2, shard_count - 1}) {
        EXPECT_EQ(map.row_of(ShardId{shard}), shard);
        EXPECT_EQ(map.shard_of(shard), ShardId{shard});
      }
      EXPECT_EQ(map.row_of(ShardId{shard_count}), kNoRow);
      EXPECT_EQ(map.row_of(ShardId{~0u}), kNoRow);
    }
  }
}

// Of every number of slices, the rows around each multiple that a division would take: the last
// groups are where a rounded factor would be wrong first.
TEST(RowMap, TheMultiplicationDividesExactlyUpToTheLastShard) {
  for (std::uint32_t owned = 1; owned < kSlices; ++owned) {
    const RowMap map = map_of(kShardsMax, first_slices(owned));
    ASSERT_EQ(map.row_count(), kShardsMax / kSlices * owned);
    for (std::uint32_t group = 0; group < kShardsMax / kSlices; group += group < 65000 ? 257 : 1) {
      for (const std::uint32_t rank : {0u, owned / 2, owned - 1}) {
        const std::uint32_t row = group * owned + rank;
        ASSERT_EQ(map.shard_of(row), ShardId{group * kSlices + rank}) << owned << " " << row;
        ASSERT_EQ(map.row_of(ShardId{group * kSlices + rank}), row);
      }
    }
  }
}

TEST(RowMap, WithoutSlicesOrBelowItsSlicesNothingIsHere) {
  EXPECT_EQ(map_of(1000, {}).row_count(), 0u);
  EXPECT_EQ(map_of(1000, {}).row_of(ShardId{3}), kNoRow);
  EXPECT_EQ(map_of(200, {200, 255}).row_count(), 0u);
  EXPECT_EQ(map_of(201, {200, 255}).row_of(ShardId{200}), 0u);
}

}  // namespace
}  // namespace gcoord::consensus
