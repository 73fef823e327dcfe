#include "cli/bench/load/histogram.h"

#include "cli/bench/report/histogram_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace gcoord::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(HistogramTest, WithoutTimesEverythingIsZero) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.at_percent(99), nanoseconds{0});
  EXPECT_EQ(empty.min(), nanoseconds{0});
  EXPECT_EQ(empty.max(), nanoseconds{0});
  EXPECT_EQ(empty.mean_ns(), 0);
  EXPECT_EQ(empty.deviation_ns(), 0);
}

TEST(HistogramTest, ExtremesMeanAndDeviationAreExact) {
  Histogram times;
  for (const int each : {2, 4, 4, 4, 5, 5, 7, 9}) {
    times.record(milliseconds{each});
  }
  EXPECT_EQ(times.min(), milliseconds{2});
  EXPECT_EQ(times.max(), milliseconds{9});
  EXPECT_DOUBLE_EQ(times.mean_ns(), 5e6);
  EXPECT_NEAR(times.deviation_ns(), 2e6, 1);
  EXPECT_EQ(times.at_percent(100), milliseconds{9});
}

TEST(HistogramTest, TimesOutsideOfItsRangeAreAtItsEnds) {
  Histogram times;
  times.record(nanoseconds{-5});
  times.record(hours{1'000'000});
  EXPECT_EQ(times.min(), nanoseconds{0});
  EXPECT_GT(times.max(), hours{1});
  EXPECT_EQ(times.count(), 2u);
}

// The largest counter of three digits, of values up to an hour.
RC_GTEST_PROP(HistogramProperty, APercentileIsExactToOnePartInAThousand, ()) {
  auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, 3'600'000'000'000)));
  Histogram times;
  for (const std::int64_t value : values) {
    times.record(nanoseconds{value});
  }
  std::ranges::sort(values);
  for (const double percent : {0.0, 50.0, 90.0, 99.0, 100.0}) {
    const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
    const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
    const std::int64_t found = times.at_percent(percent).count();
    RC_ASSERT(found >= values[index]);
    RC_ASSERT(found <= values[index] + values[index] / 1000);
  }
}

RC_GTEST_PROP(HistogramProperty, TheSumOfTwoIsTheHistogramOfAll, ()) {
  const auto values = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, 10'000'000'000));
  Histogram all;
  Histogram one;
  Histogram other;
  for (std::size_t i = 0; i < values.size(); ++i) {
    all.record(nanoseconds{values[i]});
    (i % 3 == 0 ? one : other).record(nanoseconds{values[i]});
  }
  one.add(other);
  RC_ASSERT(one.count() == all.count());
  RC_ASSERT(one.min() == all.min());
  RC_ASSERT(one.max() == all.max());
  RC_ASSERT(one.at_percent(90) == all.at_percent(90));
}

RC_GTEST_PROP(HistogramProperty, EveryTimeIsWithinItsStep, ()) {
  const auto value = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000);
  Histogram times(Histogram::kCoarseBits);
  times.record(nanoseconds{value});
  const auto steps = times.steps();
  RC_ASSERT(steps.size() == 1u);
  RC_ASSERT(steps[0].least.count() <= value);
  RC_ASSERT(steps[0].most.count() >= value);
}

// As HdrHistogram's own outputPercentileDistribution prints it.
TEST(HistogramTextTest, HasAValueAPercentileACountAndTheInverse) {
  Histogram times;
  times.record(milliseconds{1});
  times.record(milliseconds{1});
  times.record(milliseconds{1});
  times.record(milliseconds{2});
  const std::string text = histogram_text(times);
  EXPECT_TRUE(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"));
  EXPECT_NE(text.find(" 0.750000000000          3           4.00\n"), std::string::npos) << text;
  EXPECT_NE(text.find("       2.000 1.000000000000          4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("#[Mean    =        1.250, StdDeviation   =        0.433]\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("#[Max     =        2.000, Total count    =            4]\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace gcoord::cli
