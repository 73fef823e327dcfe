// Prometheus metrics of the GPUs of this machine: gcoord_gpu_*, with the GPU's UUID as label.
//
// Call refresh() before each scrape. Thread-safe.
#pragma once

#include "common/host/metrics.h"
#include "server/gpu/nvml.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gcoord::server {

class GpuMetrics {
 public:
  GpuMetrics(MetricsRegistry& registry, std::unique_ptr<Nvml> nvml);

  // What a GPU does not tell keeps its last value.
  void refresh();

 private:
  struct Gpu {
    Gauge& busy;
    Gauge& memory_used;
    Gauge& memory_total;
    Gauge& power;
    Counter& energy;
    Gauge& temperature;
  };

  std::mutex mutex_;  // Of who refreshes.
  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
};

}  // namespace gcoord::server
