#include "common/name_hash.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace gcoord {
namespace {

// The digests are FIPS 180-4's examples, and what `printf %s jobs/train-7 | sha256sum` prints: the
// hash is part of the wire format, so it must be what another program computes from the text.
TEST(NameHash, IsTheFirstSixteenBytesOfSha256) {
  EXPECT_EQ(hash_name("abc"), (NameHash{0xeacf018fbf1678bau, 0x2322ae5dde404141u}));
  EXPECT_EQ(hash_name(""), (NameHash{0x141cfc9842c4b0e3u, 0x24b96f99c8f4fb9au}));
  EXPECT_EQ(hash_name("jobs/train-7"), (NameHash{0x6ebe3876ed29e7f5u, 0xe97b5c38937f0e31u}));
}

TEST(NameHash, SpreadsNamesThatDifferInOneCharacterOverAllShards) {
  constexpr std::uint32_t kShards = 64;
  constexpr std::uint32_t kNames = 6400;
  std::array<std::uint32_t, kShards> counts{};
  for (std::uint32_t i = 0; i < kNames; ++i) {
    ++counts[shard_of(hash_name("lock-" + std::to_string(i)), kShards).value];
  }
  // Expected 100 a shard with a deviation of 10; the names are fixed, so this never wavers.
  for (const auto count : counts) {
    EXPECT_GT(count, 50u);
    EXPECT_LT(count, 150u);
  }
}

RC_GTEST_PROP(NameHash, PutsANameIntoAShardThatExists, (const std::string& name)) {
  const auto shard_count = *rc::gen::inRange<std::uint32_t>(1, 1u << 20);
  RC_ASSERT(shard_of(hash_name(name), shard_count) < ShardId{shard_count});
}

}  // namespace
}  // namespace gcoord
