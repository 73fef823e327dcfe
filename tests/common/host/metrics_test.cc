#include "common/host/metrics.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace gcoord {
namespace {

std::size_t bucket_of(std::uint64_t duration_us) {
  Histogram histogram;
  histogram.observe_us(duration_us);
  for (std::size_t index = 0; index < Histogram::kBucketCount; ++index) {
    if (histogram.bucket(index) == 1) {
      return index;
    }
  }
  return Histogram::kBucketCount;
}

TEST(Histogram, PutsADurationIntoTheFirstBucketThatReachesIt) {
  EXPECT_EQ(bucket_of(0), 0u);
  EXPECT_EQ(bucket_of(1), 0u);
  EXPECT_EQ(bucket_of(2), 1u);
  for (std::size_t index = 2; index + 1 < Histogram::kBucketCount; ++index) {
    const std::uint64_t bound = std::uint64_t{1} << index;
    EXPECT_EQ(bucket_of(bound - 1), index) << bound;
    EXPECT_EQ(bucket_of(bound), index) << bound;
    EXPECT_EQ(bucket_of(bound + 1), index + 1) << bound;
  }
}

TEST(Histogram, CountsWhatIsBeyondTheLastBoundInTheLastBucket) {
  EXPECT_EQ(bucket_of(~std::uint64_t{0}), Histogram::kBucketCount - 1);
}

TEST(Histogram, AddsUpDurations) {
  Histogram histogram;
  histogram.observe_us(3);
  histogram.observe_us(40);
  EXPECT_EQ(histogram.sum_us(), 43u);
}

TEST(MetricsRegistry, ReturnsOneMetricForOneNameAndLabel) {
  MetricsRegistry registry;
  auto& all = registry.counter({"gcoord_test_frames_total", "Frames.", "", ""});
  auto& again = registry.counter({"gcoord_test_frames_total", "Frames.", "", ""});
  auto& labelled = registry.counter({"gcoord_test_frames_total", "Frames.", "peer", "2"});
  EXPECT_EQ(&all, &again);
  EXPECT_NE(&all, &labelled);
}

TEST(MetricsRegistry, KeepsReferencesValidWhileItGrows) {
  MetricsRegistry registry;
  auto& first = registry.gauge({"gcoord_test_first", "First.", "", ""});
  for (int i = 0; i < 1000; ++i) {
    registry.gauge({"gcoord_test_" + std::to_string(i), "One of many.", "", ""}).set(i);
  }
  first.set(-7);
  EXPECT_EQ(registry.gauge({"gcoord_test_first", "First.", "", ""}).value(), -7);
}

TEST(MetricsRegistry, VisitsEveryMetricOnce) {
  MetricsRegistry registry;
  registry.counter({"gcoord_test_a_total", "A.", "", ""}).add(5);
  registry.gauge({"gcoord_test_b", "B.", "", ""}).add(-2);
  registry.histogram({"gcoord_test_c_seconds", "C.", "", ""}).observe_us(9);
  std::vector<std::string> seen;
  registry.visit(
      [&](const auto& row) {
        seen.push_back(row.name.name);
        EXPECT_EQ(row.metric.value(), 5u);
      },
      [&](const auto& row) {
        seen.push_back(row.name.name);
        EXPECT_EQ(row.metric.value(), -2);
      },
      [&](const auto& row) {
        seen.push_back(row.name.name);
        EXPECT_EQ(row.metric.sum_us(), 9u);
      });
  EXPECT_EQ(
      seen,
      (std::vector<std::string>{"gcoord_test_a_total", "gcoord_test_b", "gcoord_test_c_seconds"}));
}

TEST(MetricsRegistry, LosesNoCountBetweenThreads) {
  constexpr std::uint64_t kAdds = 20000;
  MetricsRegistry registry;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      auto& counter = registry.counter({"gcoord_test_shared_total", "Shared.", "", ""});
      for (std::uint64_t i = 0; i < kAdds; ++i) {
        counter.add();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(registry.counter({"gcoord_test_shared_total", "Shared.", "", ""}).value(), 4 * kAdds);
}

TEST(Histogram, APercentileIsTheBoundOfItsBucket) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile_us(99), 0u);
  for (int count = 0; count < 99; ++count) {
    histogram.observe_us(100);
  }
  histogram.observe_us(5000);
  EXPECT_EQ(histogram.percentile_us(50), 128u);
  EXPECT_EQ(histogram.percentile_us(99), 128u);
  EXPECT_EQ(histogram.percentile_us(100), 8192u);
}

TEST(MetricsRegistry, AHistogramIsFoundByItsName) {
  MetricsRegistry registry;
  EXPECT_EQ(registry.find_histogram("gcoord_x_us"), nullptr);
  const Histogram& made = registry.histogram({"gcoord_x_us", "x", "", ""});
  EXPECT_EQ(registry.find_histogram("gcoord_x_us"), &made);
}

}  // namespace
}  // namespace gcoord
