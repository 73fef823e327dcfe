#include "common/text/duration.h"

#include <gtest/gtest.h>

#include <limits>

namespace gcoord {
namespace {

TEST(Duration, NumbersWithUnitsAreTimes) {
  EXPECT_EQ(parse_milliseconds("500ms"), 500u);
  EXPECT_EQ(parse_milliseconds("5s"), 5000u);
  EXPECT_EQ(parse_milliseconds("1.5s"), 1500u);
  EXPECT_EQ(parse_milliseconds("1.250s"), 1250u);
  EXPECT_EQ(parse_milliseconds("0.5h"), 1'800'000u);
  EXPECT_EQ(parse_milliseconds("1h30m"), 5'400'000u);
  EXPECT_EQ(parse_milliseconds("1d"), 86'400'000u);
  EXPECT_EQ(parse_milliseconds("1d2h3m4s5ms"), 93'784'005u);
  EXPECT_EQ(parse_milliseconds("0"), 0u);
  EXPECT_EQ(parse_milliseconds("0s"), 0u);
}

TEST(Duration, AnythingElseIsNone) {
  for (const char* text :
       {"",      "5",       "s",     "-5s", "+5s",           "5 s",  "5x",        "5sec",
        "1.s",   ".5s",     "1..5s", "1.5", "30m1h",         "1s2s", "1ms2s",     "1h30",
        "1.5ms", "1.0001s", "1e3s",  "00",  "1.0000000000s", "5ss",  "5\xc2\xb5s"}) {
    EXPECT_EQ(parse_milliseconds(text), std::nullopt) << text;
  }
}

TEST(Duration, WhatNoNumberHoldsIsTheHighest) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(parse_milliseconds("99999999999999999999h"), kMost);
  EXPECT_EQ(parse_milliseconds("18446744073709551615d1s"), kMost);
}

}  // namespace
}  // namespace gcoord
