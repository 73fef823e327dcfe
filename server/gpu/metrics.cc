#include "server/gpu/metrics.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

MetricName name_of(std::string_view what, std::string_view help, const std::string& uuid) {
  return {.name = "gcoord_gpu_" + std::string{what},
          .help = std::string{help},
          .label_key = "gpu",
          .label_value = uuid};
}

void show(Gauge& gauge, std::optional<std::uint64_t> value) {
  if (value.has_value()) {
    gauge.set(static_cast<std::int64_t>(*value));
  }
}

}  // namespace

GpuMetrics::GpuMetrics(MetricsRegistry& registry, std::unique_ptr<Nvml> nvml)
    : nvml_(std::move(nvml)) {
  for (std::size_t gpu = 0; gpu < nvml_->count(); ++gpu) {
    const std::string uuid = nvml_->uuid(gpu);
    gpus_.push_back(
        {.busy = registry.gauge(in(MetricUnit::Thousandths,
                                   name_of("busy_ratio", "Share of time with a kernel", uuid))),
         .memory_used = registry.gauge(name_of("memory_used_bytes", "Memory in use", uuid)),
         .memory_total = registry.gauge(name_of("memory_bytes", "Memory of the GPU", uuid)),
         .power = registry.gauge(
             in(MetricUnit::Thousandths, name_of("power_watts", "Power drawn now", uuid))),
         .energy = registry.counter(
             in(MetricUnit::Thousandths,
                name_of("energy_joules_total", "Energy since the driver was loaded", uuid))),
         .temperature = registry.gauge(name_of("temperature_celsius", "Temperature", uuid))});
  }
}

void GpuMetrics::refresh() {
  const std::lock_guard lock{mutex_};
  for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuFacts facts = nvml_->read(gpu);
    const Gpu& shown = gpus_[gpu];
    if (facts.busy_percent.has_value()) {
      shown.busy.set(std::int64_t{*facts.busy_percent} * 10);
    }
    show(shown.memory_used, facts.memory_used_bytes);
    show(shown.memory_total, facts.memory_total_bytes);
    show(shown.power, facts.power_mw);
    show(shown.temperature, facts.temperature_c);
    const std::uint64_t told = shown.energy.value();
    shown.energy.add(std::max(facts.energy_mj.value_or(0), told) - told);
  }
}

}  // namespace gcoord::server
