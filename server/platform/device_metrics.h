// Prometheus metrics of a node's device: memory, launches, batch times, checks, failures.
//
// Registered by nodes that step on a device, and by no others. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "consensus/step/stepper.h"

#include <cstdint>

namespace gcoord::server {

// Of whoever works on a node's device.
MetricName device_errors_name();

class DeviceMetrics {
 public:
  explicit DeviceMetrics(MetricsRegistry& registry);

  // After a call of the stepper that took so long.
  void observe(const consensus::Stepper& stepper, std::uint64_t duration_us, const Status& stepped);

  // After a look at rows that nobody steps that took so long.
  void observe_look(const consensus::Stepper& stepper,
                    std::uint64_t duration_us,
                    const Status& looked);

 private:
  void count(const consensus::Stepper& stepper, const Status& outcome);

  Gauge& memory_bytes_;
  Counter& launches_;
  Counter& errors_;
  Counter& steps_checked_;
  Counter& rows_swept_;
  Histogram& step_us_;
  Histogram& sweep_us_;
};

}  // namespace gcoord::server
