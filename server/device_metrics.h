// What Prometheus is told of a node's device: memory, launches, time of a batch, failures.
//
// Registered by nodes that step on a device, and by no others. One thread.
#pragma once

#include "common/metrics.h"
#include "common/status.h"
#include "consensus/stepper.h"

#include <cstdint>

namespace gcoord::server {

class DeviceMetrics {
 public:
  explicit DeviceMetrics(MetricsRegistry& registry);

  // After a call of the stepper that took so long.
  void observe(const consensus::Stepper& stepper, std::uint64_t duration_us, const Status& stepped);

 private:
  Gauge& memory_bytes_;
  Counter& launches_;
  Counter& errors_;
  Histogram& step_us_;
};

}  // namespace gcoord::server
