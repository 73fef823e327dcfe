// Requests under way by their tags: against a map, through growth and through tags that come round
// to places that are still taken.
#include "server/resident/engine/asked_table.h"

#include "common/random.h"
#include "server/interfaces/entry_stamp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace gcoord::server {
namespace {

constexpr std::uint32_t kShards = 5;

Asked command(std::uint64_t cookie) {
  Asked asked;
  asked.cookie = cookie;
  return asked;
}

Asked barrier(std::uint64_t cookie) {
  Asked asked = command(cookie);
  asked.kind = AskedKind::Read;
  return asked;
}

struct Model {
  AskedTable table{kShards};
  std::map<std::uint64_t, Asked> asked;  // By tag.

  std::uint64_t first_of(std::uint32_t shard) const {
    for (const auto& [tag, each] : asked) {
      if (each.shard.value == shard) {
        return tag;
      }
    }
    return 0;
  }

  void add(std::uint64_t random) {
    Asked added;
    added.shard = ShardId{static_cast<std::uint32_t>(random % kShards)};
    added.cookie = random;
    const auto before = static_cast<std::uint32_t>(random >> 32 & 3u);
    const std::uint64_t last = table.tag_last();
    const std::uint64_t tag = table.add(added, before);
    ASSERT_GT(tag, last + before) << "a piece has the tag of an earlier request";
    ASSERT_TRUE(asked.emplace(tag, added).second);
  }

  void end(std::uint64_t tag) {
    const auto taken = table.take(tag);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->cookie, asked.at(tag).cookie);
    EXPECT_EQ(taken->shard, asked.at(tag).shard);
    asked.erase(tag);
    EXPECT_FALSE(table.has(tag));
    EXPECT_FALSE(table.take(tag).has_value()) << "ended twice";
  }

  void expect_same() const {
    ASSERT_EQ(table.size(), asked.size());
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      ASSERT_EQ(table.first_of(ShardId{shard}), first_of(shard));
    }
  }
};

TEST(AskedTable, IsAMapByTagWithTheOldestOfEachShardInFront) {
  Model model;
  std::uint64_t seed = 7;
  const auto draw = [&seed] { return mix64(++seed); };
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    // Grows to some thousand under way, then shrinks, and again.
    const bool grows = step / 4000 % 2 == 0;
    const std::uint64_t drawn = draw();
    if (model.asked.empty() || drawn % 8 < (grows ? 5u : 3u)) {
      model.add(draw());
    } else if (drawn % 2 == 0) {
      auto any = model.asked.begin();
      std::advance(
          any,
          static_cast<std::ptrdiff_t>(drawn / 8 % std::min<std::size_t>(9, model.asked.size())));
      model.end(any->first);
    } else {
      model.end(model.asked.rbegin()->first);
    }
    if (step % 64 == 0) {
      model.expect_same();
    }
  }
  EXPECT_FALSE(model.table.take(0).has_value());
  EXPECT_FALSE(model.table.take(~std::uint64_t{0}).has_value());
}

TEST(AskedTable, ARequestThatStaysKeepsItsPlaceWhileTagsComeRound) {
  AskedTable table(1);
  const std::uint64_t stays = table.add(command(1), 0);
  for (std::uint64_t k = 2; k < 10'000; ++k) {
    ASSERT_TRUE(table.take(table.add(command(k), 0)).has_value());
  }
  EXPECT_EQ(table.first_of(ShardId{0}), stays);
  EXPECT_EQ(table.take(stays)->cookie, 1u);
  EXPECT_EQ(table.first_of(ShardId{0}), 0u);
}

// Reads are refused before the low bits of tags with a stamp cannot name every place any more.
TEST(AskedTable, AsManyAsItTakesHavePlacesOfTheirOwn) {
  AskedTable table(1);
  const std::uint64_t stamp = stamp_bits({});
  std::vector<std::uint64_t> tags;
  while (table.takes_command()) {
    EXPECT_EQ(table.takes_read(), tags.size() < AskedTable::kAskedBeforeReadMax);
    const bool reads = table.takes_read();
    tags.push_back(table.add(
        {reads ? AskedKind::Read : AskedKind::Command, ShardId{0}, 0, 1}, 0, reads ? 0 : stamp));
  }
  EXPECT_EQ(table.size(), AskedTable::kAskedMax);
  for (const std::uint64_t tag : tags) {
    ASSERT_TRUE(table.take(tag).has_value()) << tag;
  }
  EXPECT_EQ(table.size(), 0u);
  EXPECT_TRUE(table.takes_read());
}

TEST(AskedTable, ReadsThatShareAnAnswerEndInTheirOrder) {
  AskedTable table(1);
  for (std::uint64_t round = 0; round < 3; ++round) {  // Their memory is used again.
    const std::uint64_t one = table.add(barrier(10), 0);
    const std::uint64_t other = table.add(barrier(20), 0);
    table.ride(one, 11);
    table.ride(other, 21);
    table.ride(one, 12);
    std::vector<std::uint64_t> cookies;
    for (const std::uint64_t barrier : {one, other}) {
      Asked asked = *table.take(barrier);
      do {
        cookies.push_back(asked.cookie);
      } while (table.next_rider(asked));
    }
    EXPECT_EQ(cookies, (std::vector<std::uint64_t>{10, 11, 12, 20, 21}));
  }
}

}  // namespace
}  // namespace gcoord::server
