#include "server/device_metrics.h"

namespace gcoord::server {

DeviceMetrics::DeviceMetrics(MetricsRegistry& registry)
    : memory_bytes_(registry.gauge({"gcoord_server_device_memory_bytes",
                                    "Memory of the device that this node has taken",
                                    "",
                                    ""})),
      launches_(registry.counter(
          {"gcoord_server_device_launches_total", "Batches of rows given to the device", "", ""})),
      errors_(registry.counter({"gcoord_server_device_errors_total",
                                "Failures of the device; the node stops at the first",
                                "",
                                ""})),
      step_us_(registry.histogram({"gcoord_server_device_step_us",
                                   "Microseconds of a batch: staging, device, taking back",
                                   "",
                                   ""})) {}

void DeviceMetrics::observe(const consensus::Stepper& stepper,
                            std::uint64_t duration_us,
                            const Status& stepped) {
  const consensus::StepperReport report = stepper.report();
  memory_bytes_.set(static_cast<std::int64_t>(report.device_memory_bytes));
  launches_.add(report.launches - launches_.value());
  step_us_.observe_us(duration_us);
  errors_.add(stepped.ok() ? 0 : 1);
}

}  // namespace gcoord::server
