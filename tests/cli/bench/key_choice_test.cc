#include "cli/bench/load/key_choice.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint64_t kDraws = 40'000;

std::vector<std::uint64_t> draw(const KeyChoice& choice, std::uint32_t keys) {
  std::vector<std::uint64_t> counts(keys);
  for (std::uint64_t number = 0; number < kDraws; ++number) {
    ++counts.at(choice.key_of(number));
  }
  return counts;
}

// Within five standard deviations of what its share says; the draws are the same each time.
void expect_shares(const KeyChoice& choice, std::uint32_t keys) {
  const std::vector<std::uint64_t> counts = draw(choice, keys);
  for (std::uint32_t key = 0; key < keys; ++key) {
    const double expected = choice.share_of(key) * static_cast<double>(kDraws);
    EXPECT_NEAR(static_cast<double>(counts[key]), expected, 5 * std::sqrt(expected) + 1) << key;
  }
}

TEST(KeyChoiceTest, UniformChoosesEveryKeyAlike) {
  expect_shares(KeyChoice(Distribution::Uniform, 50), 50);
}

TEST(KeyChoiceTest, ZipfChoosesByTheRankOfTheKey) {
  const KeyChoice choice(Distribution::Zipf, 50);
  expect_shares(choice, 50);
  EXPECT_NEAR(choice.share_of(0) / choice.share_of(9), std::pow(10, KeyChoice::kExponent), 1e-9);
}

TEST(KeyChoiceTest, ZipfOfAThousandNamesGivesTheFirstAnEighth) {
  EXPECT_NEAR(KeyChoice(Distribution::Zipf, 1000).share_of(0), 0.13, 0.005);
}

RC_GTEST_PROP(KeyChoiceProperty, EveryChoiceIsAKeyAndTheSameEachTime, ()) {
  const auto keys = *rc::gen::inRange<std::uint32_t>(1, 5000);
  const auto number = *rc::gen::arbitrary<std::uint64_t>();
  for (const Distribution each : {Distribution::Uniform, Distribution::Zipf}) {
    const KeyChoice choice(each, keys);
    RC_ASSERT(choice.key_of(number) < keys);
    RC_ASSERT(choice.key_of(number) == KeyChoice(each, keys).key_of(number));
  }
}

RC_GTEST_PROP(KeyChoiceProperty, TheSharesOfZipfFallAndAreOneTogether, ()) {
  const auto keys = *rc::gen::inRange<std::uint32_t>(2, 2000);
  const KeyChoice choice(Distribution::Zipf, keys);
  double sum = choice.share_of(0);
  for (std::uint32_t key = 1; key < keys; ++key) {
    RC_ASSERT(choice.share_of(key) < choice.share_of(key - 1));
    sum += choice.share_of(key);
  }
  RC_ASSERT(std::abs(sum - 1) < 1e-9);
}

}  // namespace
}  // namespace gcoord::cli
