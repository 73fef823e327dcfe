// Metrics of the watches of a node.
#pragma once

#include "common/host/metrics.h"

namespace gcoord::server {

struct WatchMetrics {
  explicit WatchMetrics(MetricsRegistry& metrics);

  Gauge* watches = nullptr;
  Gauge* ring_bytes = nullptr;
  Counter* events = nullptr;
  Counter* messages = nullptr;
  Counter* bytes = nullptr;
  Counter* lagging = nullptr;
  Counter* unsendable = nullptr;
  Counter* replays = nullptr;
};

}  // namespace gcoord::server
