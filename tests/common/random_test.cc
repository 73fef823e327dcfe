#include "common/random.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <bit>
#include <cstdint>

namespace gcoord {
namespace {

// A number has a name, not a history: it can be computed at compile time.
static_assert(random64(1, 2, 3) == random64(1, 2, 3));
static_assert(random64(1, 2, 3) != random64(1, 3, 2));

// The first outputs of Vigna's splitmix64.c from state 0, which steps by the golden ratio.
TEST(Random, MixesAsSplitMix64Does) {
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mix64(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(Random, FillsARangeEvenly) {
  constexpr std::uint32_t kBound = 10;
  constexpr std::uint32_t kDraws = 100000;
  std::array<std::uint32_t, kBound> counts{};
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    ++counts[random_below(random64(7, 1, i), kBound)];
  }
  // 10,000 expected, deviation 95; the draws are fixed, so this never wavers.
  for (const auto count : counts) {
    EXPECT_GT(count, 9500u);
    EXPECT_LT(count, 10500u);
  }
}

TEST(Random, ChangesHalfOfTheBitsWhenOneOfAnyArgumentChanges) {
  constexpr int kSamples = 64;
  std::array<int, 3> changed{};
  for (int bit = 0; bit < kSamples; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    const std::uint64_t base = random64(11, 22, 33);
    changed[0] += std::popcount(base ^ random64(11 ^ flip, 22, 33));
    changed[1] += std::popcount(base ^ random64(11, 22 ^ flip, 33));
    changed[2] += std::popcount(base ^ random64(11, 22, 33 ^ flip));
  }
  for (const int bits : changed) {
    EXPECT_GT(bits, kSamples * 28);
    EXPECT_LT(bits, kSamples * 36);
  }
}

RC_GTEST_PROP(Random, StaysBelowItsBound, (std::uint64_t word)) {
  const auto bound = *rc::gen::inRange<std::uint32_t>(1, ~std::uint32_t{0});
  RC_ASSERT(random_below(word, bound) < bound);
}

}  // namespace
}  // namespace gcoord
