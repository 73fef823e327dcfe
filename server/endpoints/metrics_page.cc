#include "server/endpoints/metrics_page.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Rows of one name are one family, whatever their labels.
class Families {
 public:
  ClientMetric& add(const MetricName& name, MetricType type) {
    auto [found, added] = by_name_.try_emplace(name.name);
    if (added) {
      found->second.name = name.name;
      found->second.help = name.help;
      found->second.type = type;
    }
    ClientMetric& metric = found->second.metric.emplace_back();
    if (!name.label_key.empty()) {
      metric.label.push_back({name.label_key, name.label_value});
    }
    return metric;
  }

  std::vector<MetricFamily> take() {
    std::vector<MetricFamily> families;
    families.reserve(by_name_.size());
    for (auto& [name, family] : by_name_) {
      families.push_back(std::move(family));
    }
    return families;
  }

 private:
  std::map<std::string, MetricFamily> by_name_;
};

void fill_histogram(const Histogram& from, ClientMetric::Histogram& to) {
  std::uint64_t cumulative = 0;
  for (std::size_t index = 0; index < Histogram::kBucketCount; ++index) {
    cumulative += from.bucket(index);
    const bool last = index + 1 == Histogram::kBucketCount;
    const double bound = last ? std::numeric_limits<double>::infinity()
                              : static_cast<double>(std::uint64_t{1} << index) * 1e-6;
    to.bucket.push_back({cumulative, bound});
  }
  to.sample_count = cumulative;
  to.sample_sum = static_cast<double>(from.sum_us()) * 1e-6;
}

void add_registry(const MetricsRegistry& registry, Families& families) {
  registry.visit(
      [&](const MetricsRegistry::CounterRow& row) {
        families.add(row.name, MetricType::Counter).counter.value =
            static_cast<double>(row.metric.value()) * in_base_units(row.name.unit);
      },
      [&](const MetricsRegistry::GaugeRow& row) {
        families.add(row.name, MetricType::Gauge).gauge.value =
            static_cast<double>(row.metric.value()) * in_base_units(row.name.unit);
      },
      [&](const MetricsRegistry::HistogramRow& row) {
        fill_histogram(row.metric, families.add(row.name, MetricType::Histogram).histogram);
      });
}

}  // namespace

HttpAnswer metrics_page(const MetricsRegistry& registry, const MetricsRegistry& more) {
  Families families;
  add_registry(registry, families);
  add_registry(more, families);
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = prometheus::TextSerializer().Serialize(families.take())};
}

}  // namespace gcoord::server
