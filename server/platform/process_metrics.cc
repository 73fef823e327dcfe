#include "server/platform/process_metrics.h"

#include "common/host/process_facts.h"
#include "server/platform/version.h"

#include <algorithm>
#include <string>

namespace gcoord::server {

ProcessMetrics::ProcessMetrics(MetricsRegistry& registry)
    : cpu_us_(registry.counter(
          in(MetricUnit::Microseconds,
             {"process_cpu_seconds_total", "Time on processors, of the user and of the system"}))),
      resident_bytes_(registry.gauge({"process_resident_memory_bytes", "Memory in use"})),
      virtual_bytes_(registry.gauge({"process_virtual_memory_bytes", "Memory that is mapped"})),
      threads_(registry.gauge({"process_threads", "Threads"})),
      descriptors_open_(registry.gauge({"process_open_fds", "Descriptors that are open"})),
      descriptors_max_(registry.gauge({"process_max_fds", "Most descriptors; 0: no limit"})),
      start_ms_(registry.gauge(
          in(MetricUnit::Thousandths,
             {"process_start_time_seconds", "When the process started, in Unix time"}))) {
  registry
      .gauge({.name = "gcoord_build_info",
              .help = "1 for the release of this node",
              .label_key = "version",
              .label_value = std::string{kVersion}})
      .set(1);
}

void ProcessMetrics::refresh() {
  const auto facts = read_process_facts();
  if (!facts.ok()) {
    return;
  }
  const std::lock_guard lock{mutex_};
  const auto cpu_us = static_cast<std::uint64_t>(facts.value().cpu_seconds * 1e6);
  cpu_us_.add(cpu_us - std::min(cpu_us, cpu_us_told_));
  cpu_us_told_ = std::max(cpu_us_told_, cpu_us);
  resident_bytes_.set(static_cast<std::int64_t>(facts.value().resident_bytes));
  virtual_bytes_.set(static_cast<std::int64_t>(facts.value().virtual_bytes));
  threads_.set(static_cast<std::int64_t>(facts.value().threads));
  descriptors_open_.set(static_cast<std::int64_t>(facts.value().descriptors_open));
  descriptors_max_.set(static_cast<std::int64_t>(facts.value().descriptors_max));
  start_ms_.set(static_cast<std::int64_t>(facts.value().start_unix_seconds * 1e3));
}

}  // namespace gcoord::server
