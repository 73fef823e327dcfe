// Reads a node's /metrics as Prometheus does, and sums each metric over its labels.
// Blocking, with a timeout of a few seconds. Thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <map>
#include <string>

namespace gcoord::bench {

// Name of the metric, without labels -> sum over its label values.
using MetricSums = std::map<std::string, double>;

Result<MetricSums> scrape_metrics(std::uint16_t port);

}  // namespace gcoord::bench
