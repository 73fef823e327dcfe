// Counters, gauges and histograms that any floor may touch and one place may read.
//
// A metric is registered once at start-up by name and help text and then updated with relaxed
// atomics from any thread. Names follow Prometheus: gcoord_<folder>_<what>_<unit>[_total], in base
// units (seconds, bytes), which is how a scrape shows them. Labels
// are few and bounded (a peer, a band, a kind); a shard is never a label. Only server/ exposes the
// registry. Host only.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord {

class Counter {
 public:
  void add(std::uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }

  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }

  void add(std::int64_t count) { value_.fetch_add(count, std::memory_order_relaxed); }

  std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Durations in microseconds in powers of two: bucket i counts observations <= 2^i us; the last one
// counts the rest.
class Histogram {
 public:
  static constexpr std::size_t kBucketCount =
      26;  // 2^25 us is 33 s, longer than any deadline in the product.

  void observe_us(std::uint64_t duration_us);

  std::uint64_t bucket(std::size_t index) const {
    return buckets_[index].load(std::memory_order_relaxed);
  }

  std::uint64_t sum_us() const { return sum_us_.load(std::memory_order_relaxed); }

  // The upper bound of the bucket below which that share of the observations lies; 0 before the
  // first. `percent` is 1 to 100.
  std::uint64_t percentile_us(std::uint32_t percent) const;

 private:
  std::array<std::atomic<std::uint64_t>, kBucketCount> buckets_{};
  std::atomic<std::uint64_t> sum_us_{0};
};

// What a counter or gauge counts in. It is exposed in the base unit: seconds, or the thing itself.
enum class MetricUnit : std::uint8_t { Whole, Microseconds, Thousandths };

// How much of the base unit one of it is.
constexpr double in_base_units(MetricUnit unit) {
  return unit == MetricUnit::Microseconds ? 1e-6 : unit == MetricUnit::Thousandths ? 1e-3 : 1.0;
}

struct MetricName {
  std::string name;
  std::string help;
  std::string label_key = {};  // Empty when the metric has no label.
  std::string label_value = {};
  MetricUnit unit = MetricUnit::Whole;  // Of a counter or gauge; histograms hold microseconds.
};

// The same, counted in another unit.
inline MetricName in(MetricUnit unit, MetricName name) {
  name.unit = unit;
  return name;
}

// Owns the metrics of one process part (a node, a test). References stay valid as long as the
// registry lives. Registration takes a lock; asking for the same name and label again returns the
// same metric.
class MetricsRegistry {
 public:
  struct CounterRow {
    MetricName name;
    Counter metric;
  };

  struct GaugeRow {
    MetricName name;
    Gauge metric;
  };

  struct HistogramRow {
    MetricName name;
    Histogram metric;
  };

  Counter& counter(const MetricName& name);
  Gauge& gauge(const MetricName& name);
  Histogram& histogram(const MetricName& name);

  // nullptr when nobody registered it. Without labels only.
  const Histogram* find_histogram(std::string_view name) const;

  // Calls the visitors for every metric, under the lock; for the exposition endpoint.
  void visit(const std::function<void(const CounterRow&)>& on_counter,
             const std::function<void(const GaugeRow&)>& on_gauge,
             const std::function<void(const HistogramRow&)>& on_histogram) const;

 private:
  mutable std::mutex mutex_;
  std::deque<CounterRow> counters_;
  std::deque<GaugeRow> gauges_;
  std::deque<HistogramRow> histograms_;
};

}  // namespace gcoord
