// Counters of client I/O, of all threads of a node. A node without I/O threads shows them at zero.
#pragma once

#include "common/host/metrics.h"

#include <cstdint>
#include <string_view>

namespace gcoord::server {

struct IoCounters {
  explicit IoCounters(MetricsRegistry& metrics);

  Counter& reads;
  Counter& sends;
  Counter& wakes;       // Of sleeping I/O threads.
  Counter& loop_wakes;  // Of the sleeping loop.
  Gauge& stalled;       // I/O threads.
};

// So many threads serve client sockets, by this backend ("none" without threads).
void tell_io_threads(MetricsRegistry& metrics,
                     std::string_view backend,
                     std::uint32_t thread_count);

}  // namespace gcoord::server
