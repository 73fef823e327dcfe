// Prometheus metrics of the process itself and of its build, by the names of Prometheus's client
// libraries: process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds and so on,
// and gcoord_build_info.
//
// They are read from the kernel when somebody asks: call refresh() before each scrape. Thread-safe.
#pragma once

#include "common/host/metrics.h"

#include <cstdint>
#include <mutex>

namespace gcoord::server {

class ProcessMetrics {
 public:
  explicit ProcessMetrics(MetricsRegistry& registry);

  // What cannot be read keeps its last value.
  void refresh();

 private:
  std::mutex mutex_;  // Of who refreshes.
  Counter& cpu_us_;
  Gauge& resident_bytes_;
  Gauge& virtual_bytes_;
  Gauge& threads_;
  Gauge& descriptors_open_;
  Gauge& descriptors_max_;
  Gauge& start_ms_;
  std::uint64_t cpu_us_told_ = 0;
};

}  // namespace gcoord::server
