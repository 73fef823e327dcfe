#include "cli/top/samples/metrics_page.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace gcoord::cli::top {
namespace {

TEST(MetricsPage, LabelsAreAddedUp) {
  const MetricsPage page = MetricsPage::parse(
      "# HELP a text\n# TYPE a counter\n"
      "a{peer=\"1\"} 2\na{peer=\"x} \\\" y\"} 3.5 1700000000\nb 1e3\r\n");
  EXPECT_EQ(page.sum("a"), 5.5);
  EXPECT_EQ(page.mean("a"), 2.75);
  EXPECT_EQ(page.highest("a"), 3.5);
  EXPECT_EQ(page.sum("b"), 1000);
  EXPECT_EQ(page.sum("c"), std::nullopt);
  EXPECT_EQ(page.dropped(), 0u);
}

TEST(MetricsPage, BucketsComeByTheirBounds) {
  const MetricsPage page = MetricsPage::parse(
      "h_bucket{le=\"+Inf\"} 9\nh_bucket{le=\"0.5\"} 7\nh_bucket{le=\"0.25\"} 2\n");
  const auto buckets = page.buckets("h");
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].bound, 0.25);
  EXPECT_EQ(buckets[1].count, 7);
  EXPECT_EQ(buckets[2].bound, std::numeric_limits<double>::infinity());
}

TEST(MetricsPage, LinesThatAreNoSamplesAreDroppedAndCounted) {
  const MetricsPage page =
      MetricsPage::parse("a\n{} 1\na{b=\"c 1\na x\na NaN\na +Inf\n\na 1\nb 1x\n \n");
  EXPECT_EQ(page.sum("a"), 1);
  EXPECT_EQ(page.dropped(), 8u);
}

TEST(MetricsPage, NoPageIsTooLong) {
  std::string text;
  for (std::size_t k = 0; k < kMetricSamplesMax + 7; ++k) {
    text += "a" + std::to_string(k) + " 1\n";
  }
  EXPECT_EQ(MetricsPage::parse(text).dropped(), 7u);
}

}  // namespace
}  // namespace gcoord::cli::top
