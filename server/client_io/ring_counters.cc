#include "server/client_io/ring_counters.h"

namespace gcoord::server {

namespace {

Counter& bytes_of(MetricsRegistry& metrics, const char* direction) {
  return metrics.counter({"gcoord_server_shm_bytes_total",
                          "Bytes that passed through rings in shared memory: of requests (in), of "
                          "replies (out).",
                          "direction",
                          direction});
}

Counter& wakes_of(MetricsRegistry& metrics, const char* side) {
  return metrics.counter(
      {"gcoord_server_shm_wakes_total",
       "Bells by the sockets of clients with shared memory: rung for a client "
       "that slept (client), taken by the loop (node). None while both are busy.",
       "side",
       side});
}

Counter& refused_of(MetricsRegistry& metrics, const char* reason) {
  return metrics.counter({"gcoord_server_shm_refused_total",
                          "Clients that got no shared memory, by reason (foreign: no request of a "
                          "client, layout, exhausted), or lost it because their ring cannot be "
                          "(ring) or they rang without end (bells).",
                          "reason",
                          reason});
}

}  // namespace

RingCounters::RingCounters(MetricsRegistry& metrics)
    : clients(metrics.gauge({"gcoord_server_shm_clients",
                             "Client connections whose requests and replies go by rings in shared "
                             "memory.",
                             "",
                             ""})),
      read(bytes_of(metrics, "in")),
      written(bytes_of(metrics, "out")),
      wakes(wakes_of(metrics, "client")),
      loop_wakes(wakes_of(metrics, "node")),
      foreign(refused_of(metrics, "foreign")),
      layout(refused_of(metrics, "layout")),
      exhausted(refused_of(metrics, "exhausted")),
      broken(refused_of(metrics, "ring")),
      loud(refused_of(metrics, "bells")) {}

}  // namespace gcoord::server
