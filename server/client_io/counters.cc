#include "server/client_io/counters.h"

#include <string>

namespace gcoord::server {

namespace {

Counter& wakes_of(MetricsRegistry& metrics, const char* thread) {
  return metrics.counter({"gcoord_server_io_wakes_total",
                          "Threads that slept and were woken for client sockets: I/O threads by "
                          "the loop (io), the loop by one of them (loop).",
                          "thread",
                          thread});
}

}  // namespace

IoCounters::IoCounters(MetricsRegistry& metrics)
    : reads(metrics.counter({"gcoord_server_io_reads_total",
                             "Reads of client sockets by I/O threads that brought something.",
                             "",
                             ""})),
      sends(metrics.counter({"gcoord_server_io_sends_total",
                             "Writes to client sockets by I/O threads that took something.",
                             "",
                             ""})),
      wakes(wakes_of(metrics, "io")),
      loop_wakes(wakes_of(metrics, "loop")),
      stalled(metrics.gauge({"gcoord_server_io_threads_stalled",
                             "I/O threads that take nothing from the loop, as of the last second.",
                             "",
                             ""})) {}

void tell_io_threads(MetricsRegistry& metrics,
                     std::string_view backend,
                     std::uint32_t thread_count) {
  metrics
      .gauge({"gcoord_server_io_threads",
              "I/O threads that serve client sockets, by their way to the kernel.",
              "backend",
              std::string(backend)})
      .set(thread_count);
}

}  // namespace gcoord::server
