// Metrics of the lock service. The registry outlives them; adding and setting is thread-safe.
#pragma once

#include "common/host/metrics.h"
#include "server/ingress/way.h"

#include <array>

namespace gcoord::server {

struct LockServiceMetrics {
  explicit LockServiceMetrics(MetricsRegistry& registry);

  Counter* requests;
  Counter* requests_failed;
  Counter* requests_refused;
  Counter* terms_stale;
  Counter* grants;
  Counter* waits_timed_out;
  Counter* waits_rebound;
  Gauge* waits;
  Gauge* sessions;
  Gauge* locks;
  Gauge* groups;
  Gauge* group_participants;
  Counter* group_views;
  Gauge* group_waits;
  Gauge* rendezvous;
  Gauge* rendezvous_sessions;
  Histogram* command_us;
  Histogram* wait_us;
  Counter* peer_messages_bad;
  std::array<Counter*, kIngressWays> ingress{};  // Commands of clients, by IngressWay.
};

}  // namespace gcoord::server
