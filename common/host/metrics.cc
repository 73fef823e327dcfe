#include "common/host/metrics.h"

#include <algorithm>
#include <bit>

namespace gcoord {
namespace {

template <typename Rows>
auto& find_or_add(Rows& rows, const MetricName& name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) {
    return row.name.name == name.name && row.name.label_value == name.label_value;
  });
  if (found != rows.end()) {
    return found->metric;
  }
  auto& row = rows.emplace_back();
  row.name = name;
  return row.metric;
}

}  // namespace

void Histogram::observe_us(std::uint64_t duration_us) {
  const auto width = duration_us <= 1 ? 0u : static_cast<unsigned>(std::bit_width(duration_us - 1));
  const std::size_t index = std::min<std::size_t>(width, kBucketCount - 1);
  buckets_[index].fetch_add(1, std::memory_order_relaxed);
  sum_us_.fetch_add(duration_us, std::memory_order_relaxed);
}

std::uint64_t Histogram::percentile_us(std::uint32_t percent) const {
  std::uint64_t count = 0;
  for (std::size_t index = 0; index < kBucketCount; ++index) {
    count += bucket(index);
  }
  std::uint64_t below = 0;
  for (std::size_t index = 0; index < kBucketCount; ++index) {
    below += bucket(index);
    if (count != 0 && below >= (count * percent + 99) / 100) {
      return std::uint64_t{1} << index;
    }
  }
  return 0;
}

Counter& MetricsRegistry::counter(const MetricName& name) {
  const std::lock_guard lock(mutex_);
  return find_or_add(counters_, name);
}

Gauge& MetricsRegistry::gauge(const MetricName& name) {
  const std::lock_guard lock(mutex_);
  return find_or_add(gauges_, name);
}

Histogram& MetricsRegistry::histogram(const MetricName& name) {
  const std::lock_guard lock(mutex_);
  return find_or_add(histograms_, name);
}

const Histogram* MetricsRegistry::find_histogram(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(histograms_, [&](const auto& row) { return row.name.name == name; });
  return found == histograms_.end() ? nullptr : &found->metric;
}

void MetricsRegistry::visit(const std::function<void(const CounterRow&)>& on_counter,
                            const std::function<void(const GaugeRow&)>& on_gauge,
                            const std::function<void(const HistogramRow&)>& on_histogram) const {
  const std::lock_guard lock(mutex_);
  std::for_each(counters_.begin(), counters_.end(), on_counter);
  std::for_each(gauges_.begin(), gauges_.end(), on_gauge);
  std::for_each(histograms_.begin(), histograms_.end(), on_histogram);
}

}  // namespace gcoord
