#include "server/endpoints/metrics_endpoint.h"

#include "protocol/error_codes.h"
#include "server/platform/listen_probe.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

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

class RegistryCollectable final : public prometheus::Collectable {
 public:
  explicit RegistryCollectable(const MetricsRegistry& registry) : registry_(registry) {}

  std::vector<MetricFamily> Collect() const override {
    Families families;
    registry_.visit(
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
    return families.take();
  }

 private:
  const MetricsRegistry& registry_;
};

}  // namespace

class MetricsEndpoint::Impl {
 public:
  Impl(const std::string& address, const MetricsRegistry& registry)
      : collectable_(std::make_shared<RegistryCollectable>(registry)), exposer_(address, 1) {
    exposer_.RegisterCollectable(collectable_);
  }

  std::uint16_t port() const {
    const std::vector<int> ports = exposer_.GetListeningPorts();
    return ports.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(ports.front());
  }

 private:
  std::shared_ptr<RegistryCollectable> collectable_;
  prometheus::Exposer exposer_;
};

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MetricsEndpoint::~MetricsEndpoint() = default;

Result<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::open(const Endpoint& endpoint,
                                                               const MetricsRegistry& registry) {
  // The HTTP library takes numeric addresses only, and throws when it cannot bind.
  Endpoint numeric = endpoint;
  numeric.host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host;
  try {
    return std::unique_ptr<MetricsEndpoint>(
        new MetricsEndpoint(std::make_unique<Impl>(to_string(numeric), registry)));
  } catch (const std::exception& error) {
    // Its own text ("null context when constructing CivetServer") says nothing to an operator.
    const Status taken = probe_listen("listen-metrics", endpoint);
    return !taken.ok() ? taken
                       : protocol::make_error(
                             protocol::ErrorCode::ListenFailed,
                             "--listen-metrics " + to_string(endpoint) + ": " + error.what());
  }
}

std::uint16_t MetricsEndpoint::port() const {
  return impl_->port();
}

}  // namespace gcoord::server
