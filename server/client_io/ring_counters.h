// Counters of clients by shared memory. A node without any shows them at zero.
#pragma once

#include "common/host/metrics.h"

namespace gcoord::server {

struct RingCounters {
  explicit RingCounters(MetricsRegistry& metrics);

  Gauge& clients;       // That have rings now.
  Counter& read;        // Bytes of requests.
  Counter& written;     // Bytes of replies.
  Counter& wakes;       // Clients that slept and were woken.
  Counter& loop_wakes;  // Times a client woke the loop, or left a bell for it.
  Counter& foreign;     // Connections that did not ask for rings as a client does.
  Counter& layout;      // Clients that know no layout of this node.
  Counter& exhausted;   // Clients for whose rings there was no memory or no descriptor.
  Counter& broken;      // Rings whose words or pieces cannot be.
  Counter& loud;        // Clients that rang without end.
};

}  // namespace gcoord::server
