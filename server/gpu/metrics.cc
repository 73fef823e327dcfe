#include "server/gpu/metrics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::server {
namespace {

// The metrics of one GPU.
class Shown {
 public:
  Shown(MetricsRegistry& page, const std::string& uuid) : page_(page), uuid_(uuid) {}

  MetricName name(std::string_view what, std::string_view help) const {
    return {.name = "gcoord_gpu_" + std::string{what},
            .help = std::string{help},
            .label_key = "gpu",
            .label_value = uuid_};
  }

  // `scale`: how many of the name's unit one of the value is.
  template <typename Value>
  void gauge(const MetricName& name,
             const std::optional<Value>& value,
             std::int64_t scale = 1) const {
    if (value.has_value()) {
      page_.gauge(name).set(static_cast<std::int64_t>(*value) * scale);
    }
  }

  void counter(const MetricName& name, const std::optional<std::uint64_t>& value) const {
    if (value.has_value()) {
      page_.counter(name).add(*value);
    }
  }

 private:
  MetricsRegistry& page_;
  const std::string& uuid_;
};

void show_gpu(const GpuFacts& facts, const Shown& gpu) {
  constexpr auto kThousandths = MetricUnit::Thousandths;
  gpu.gauge(in(kThousandths, gpu.name("busy_ratio", "Share of time with a kernel")),
            facts.busy_percent,
            10);
  gpu.gauge(gpu.name("memory_used_bytes", "Memory in use"), facts.memory_used_bytes);
  gpu.gauge(gpu.name("memory_bytes", "Memory of the GPU"), facts.memory_total_bytes);
  gpu.gauge(in(kThousandths, gpu.name("power_watts", "Power drawn now")), facts.power_mw);
  gpu.counter(
      in(kThousandths, gpu.name("energy_joules_total", "Energy since the driver was loaded")),
      facts.energy_mj);
  gpu.gauge(gpu.name("temperature_celsius", "Temperature"), facts.temperature_c);
  gpu.counter(
      gpu.name("ecc_corrected_total", "Memory errors corrected since the driver was loaded"),
      facts.ecc_corrected);
  gpu.counter(
      gpu.name("ecc_uncorrected_total", "Memory errors not corrected since the driver was loaded"),
      facts.ecc_uncorrected);
  gpu.counter(gpu.name("nvlink_replays_total", "Transfers that NVLinks repeated"),
              facts.link_replays);
  gpu.counter(gpu.name("nvlink_recoveries_total", "Recoveries of NVLinks"), facts.link_recoveries);
  gpu.counter(gpu.name("nvlink_crc_errors_total", "Frames of NVLinks with a wrong checksum"),
              facts.link_crc_errors);
  gpu.gauge(gpu.name("throttle_reasons", "Bits of why clocks are low, as NVML has them"),
            facts.throttle);
  gpu.gauge(gpu.name("processes", "Processes with contexts of their own, not through MPS"),
            facts.processes);
}

void show_xids(const GpuReading& reading, const Shown& gpu) {
  std::uint64_t count = 0;
  for (const auto& [number, events] : reading.xids) {
    count += events;
  }
  gpu.counter(gpu.name("xids_total", "Xid events of the driver while this process watches"),
              std::optional{count});
}

}  // namespace

void show_gpus(const GpuSample& sample, MetricsRegistry& page) {
  page.gauge(in(MetricUnit::Microseconds,
                {"gcoord_gpu_sample_age_seconds",
                 "Age of the values of GPUs; without a newer reading they are left out."}))
      .set(sample.age.count());
  for (const GpuReading& gpu : sample.gpus) {
    show_gpu(gpu.facts, Shown(page, gpu.uuid));
    show_xids(gpu, Shown(page, gpu.uuid));
  }
}

}  // namespace gcoord::server
