// Counters of client I/O, of all threads of a node. A node without I/O threads shows them at zero.
#pragma once

#include "common/host/metrics.h"
#include "server/client_io/io_tally.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace gcoord::server {

struct IoCounters {
  explicit IoCounters(MetricsRegistry& metrics);

  // Adds what a thread has counted, and clears its tally. Any thread.
  void take(IoTally& tally);

  std::uint64_t of(IoCall call) const { return calls[static_cast<std::size_t>(call)]->value(); }

  std::uint64_t of(IoCopy stage) const { return copied[static_cast<std::size_t>(stage)]->value(); }

  std::uint64_t of(IoEvent event) const { return events[static_cast<std::size_t>(event)]->value(); }

  Counter& reads;
  Counter& sends;
  Counter& wakes;       // Of sleeping I/O threads.
  Counter& loop_wakes;  // Of the sleeping loop.
  Gauge& stalled;       // I/O threads.
  std::array<Counter*, static_cast<std::size_t>(IoCall::Count)> calls{};
  std::array<Counter*, static_cast<std::size_t>(IoCopy::Count)> copied{};
  std::array<Counter*, static_cast<std::size_t>(IoEvent::Count)> events{};
};

// So many threads serve client sockets, by this backend ("none" without threads).
void tell_io_threads(MetricsRegistry& metrics,
                     std::string_view backend,
                     std::uint32_t thread_count);

}  // namespace gcoord::server
