// /metrics for Prometheus: one HTTP listener over the metrics registry of a node.
//
// A scrape reads relaxed atomics; it never touches the node's loop. Times are exposed in
// seconds. The listener has threads of its own (prometheus-cpp).
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/platform/endpoint_name.h"

#include <cstdint>
#include <memory>

namespace gcoord::server {

class MetricsEndpoint {
 public:
  // ListenFailed when the address cannot be bound. The registry outlives the endpoint.
  static Result<std::unique_ptr<MetricsEndpoint>> open(const Endpoint& endpoint,
                                                       const MetricsRegistry& registry);
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  explicit MetricsEndpoint(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
