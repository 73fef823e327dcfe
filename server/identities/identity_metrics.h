// Metrics of authentication and of keys of sessions. The registry outlives them; thread-safe.
#pragma once

#include "common/host/metrics.h"

namespace gcoord::server {

struct IdentityMetrics {
  explicit IdentityMetrics(MetricsRegistry& registry);

  Counter& passwords_right;
  Counter& passwords_wrong;
  Counter& tokens_good;
  Counter& tokens_bad;
  Counter& tokens_from_cache;
  Counter& throttled;
  Counter& queue_full;
  Gauge& queue;
  Counter& attached;
  Counter& keys_wrong;
  Counter& unattached;
  Counter& leaps;
};

}  // namespace gcoord::server
