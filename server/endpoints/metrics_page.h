// /metrics for Prometheus: the metrics registry of a node as text.
//
// A scrape reads relaxed atomics; it never touches the node's loop. Times are exposed in
// seconds. Thread-safe.
#pragma once

#include "common/host/metrics.h"
#include "server/http/message.h"

namespace gcoord::server {

HttpAnswer metrics_page(const MetricsRegistry& registry);

}  // namespace gcoord::server
