// A bucket never gives more than its burst and what its rate makes in the time.
#include "server/budget/token_bucket.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace gcoord::server {
namespace {

// In any window of time, not only from the beginning: a window begins with a full bucket at most.
TEST(TokenBucketTest, NeverGivesMoreThanBurstAndRate) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    const TokenBucket::Rate rate{1 + below(5'000), 1 + below(100)};
    std::uint64_t now_us = below(1'000'000'000);
    const std::uint64_t start_us = now_us;
    TokenBucket bucket(rate.burst, now_us);
    std::uint64_t given = 0;
    for (int step = 0; step < 2'000; ++step) {
      now_us += below(10) == 0 ? below(200'000) : below(300);
      given += bucket.take(rate, now_us) ? 1 : 0;
      const std::uint64_t earned = (now_us - start_us) * rate.per_second / 1'000'000;
      ASSERT_LE(given, rate.burst + earned) << "seed " << seed << ", step " << step;
    }
  }
}

// And no less: who asks for less than the rate is never refused.
TEST(TokenBucketTest, GivesItsRateToWhoAsksSteadily) {
  const TokenBucket::Rate rate{1'000, 1};
  TokenBucket bucket(rate.burst, 0);
  for (std::uint64_t now_us = 1'000; now_us < 1'000'000; now_us += 1'000) {
    EXPECT_TRUE(bucket.take(rate, now_us)) << now_us;
    EXPECT_FALSE(bucket.take(rate, now_us)) << now_us;
  }
}

TEST(TokenBucketTest, SaysHowLongToWaitAndKeepsItsWord) {
  for (const std::uint64_t per_second : {1u, 3u, 7u, 999u, 100'000'000u}) {
    const TokenBucket::Rate rate{per_second, 1};
    TokenBucket bucket(rate.burst, 0);
    ASSERT_TRUE(bucket.take(rate, 0));
    ASSERT_FALSE(bucket.take(rate, 0));
    const std::uint64_t wait_ms = bucket.wait_ms(rate);
    EXPECT_GE(wait_ms, 1u);
    EXPECT_LE(wait_ms, 1'000 / per_second + 1);
    EXPECT_TRUE(bucket.take(rate, wait_ms * 1'000));
  }
}

TEST(TokenBucketTest, NeitherYearsNorAClockThatGoesBackHarmIt) {
  const TokenBucket::Rate rate{100'000'000, 100'000'000};
  TokenBucket bucket(rate.burst, 5'000'000);
  EXPECT_TRUE(bucket.take(rate, ~std::uint64_t{0}));
  EXPECT_TRUE(bucket.is_full({1, 1}, ~std::uint64_t{0}));
  TokenBucket back(1, 1'000'000);
  ASSERT_TRUE(back.take({1, 1}, 1'000'000));
  EXPECT_FALSE(back.take({1, 1}, 0));
  EXPECT_FALSE(back.take({1, 1}, 1'999'999));
  EXPECT_TRUE(back.take({1, 1}, 2'000'000));
}

TEST(TokenBucketTest, ALowerBurstHoldsAtOnce) {
  TokenBucket bucket(1'000, 0);
  int given = 0;
  while (bucket.take({1, 3}, 0)) {
    ++given;
  }
  EXPECT_EQ(given, 3);
}

}  // namespace
}  // namespace gcoord::server
