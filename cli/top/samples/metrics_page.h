// A page of metrics in Prometheus's text format, as a node serves it at /metrics.
//
// The page is from outside: lines that are no samples are skipped and counted, and no more than
// kMetricSamplesMax samples are kept. Pure; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli::top {

// Over ten times those of a node with seven peers.
inline constexpr std::size_t kMetricSamplesMax = 16'384;

class MetricsPage {
 public:
  // One bucket of a histogram: how many observations lie at or below the bound, in base units.
  struct Bucket {
    double bound = 0;
    double count = 0;
  };

  static MetricsPage parse(std::string_view text);

  bool empty() const { return by_name_.empty(); }

  // Over all labels of the metric; nothing when the page does not have it.
  std::optional<double> sum(std::string_view name) const;
  std::optional<double> mean(std::string_view name) const;
  std::optional<double> highest(std::string_view name) const;

  // Of a histogram without other labels, by rising bound; empty when the page does not have it.
  std::vector<Bucket> buckets(std::string_view histogram) const;

  // Lines that were no samples, or too many.
  std::size_t dropped() const { return dropped_; }

 private:
  struct MetricSample {
    double value = 0;
    double bound = 0;  // The label `le`, of a bucket.
  };

  bool add(std::string_view line);
  const std::vector<MetricSample>* find(std::string_view name) const;

  std::map<std::string, std::vector<MetricSample>, std::less<>> by_name_;
  std::size_t count_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace gcoord::cli::top
