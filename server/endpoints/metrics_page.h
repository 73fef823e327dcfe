// /metrics for Prometheus: the metrics registry of a node as text.
//
// A scrape reads relaxed atomics; it never touches the node's loop. Times are exposed in
// seconds. Thread-safe.
#pragma once

#include "common/host/metrics.h"
#include "server/http/message.h"

namespace gcoord::server {

// `more`: metrics of this page alone, under other names than the registry's.
HttpAnswer metrics_page(const MetricsRegistry& registry, const MetricsRegistry& more = {});

}  // namespace gcoord::server
