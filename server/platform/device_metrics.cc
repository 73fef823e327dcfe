#include "server/platform/device_metrics.h"

namespace gcoord::server {

MetricName device_errors_name() {
  return {"gcoord_server_device_errors_total",
          "Failures of the device; the node stops at the first",
          "",
          ""};
}

DeviceMetrics::DeviceMetrics(MetricsRegistry& registry)
    : memory_bytes_(registry.gauge(
          {"gcoord_server_device_memory_bytes", "Device memory that this node uses", "", ""})),
      launches_(registry.counter(
          {"gcoord_server_device_launches_total", "Batches of rows sent to the device", "", ""})),
      errors_(registry.counter(device_errors_name())),
      steps_checked_(registry.counter({"gcoord_server_device_steps_checked_total",
                                       "Device steps that the host repeated for a check",
                                       "",
                                       ""})),
      rows_swept_(registry.counter({"gcoord_server_device_rows_swept_total",
                                    "Checks of idle rows in device memory",
                                    "",
                                    ""})),
      step_us_(registry.histogram({"gcoord_server_device_step_seconds",
                                   "Time of a batch: staging, device, copying back",
                                   "",
                                   ""})),
      sweep_us_(registry.histogram(
          {"gcoord_server_device_row_scan_seconds", "Time of a check of idle rows", "", ""})) {}

void DeviceMetrics::observe(const consensus::Stepper& stepper,
                            std::uint64_t duration_us,
                            const Status& stepped) {
  step_us_.observe_us(duration_us);
  count(stepper, stepped);
}

void DeviceMetrics::observe_look(const consensus::Stepper& stepper,
                                 std::uint64_t duration_us,
                                 const Status& looked) {
  sweep_us_.observe_us(duration_us);
  count(stepper, looked);
}

void DeviceMetrics::count(const consensus::Stepper& stepper, const Status& outcome) {
  const consensus::StepperReport report = stepper.report();
  memory_bytes_.set(static_cast<std::int64_t>(report.device_memory_bytes));
  launches_.add(report.launches - launches_.value());
  steps_checked_.add(report.steps_checked - steps_checked_.value());
  rows_swept_.add(report.rows_swept - rows_swept_.value());
  errors_.add(outcome.ok() ? 0 : 1);
}

}  // namespace gcoord::server
