#include "bench/report/metrics_scrape.h"

#include "common/http/client.h"

#include <chrono>
#include <cstddef>
#include <sstream>

namespace gcoord::bench {

namespace {

// Far above what a node with a metric of each kind has to say.
constexpr HttpLimits kLimits{.timeout = std::chrono::seconds{5},
                             .body_bytes_max = std::size_t{64} << 20};

}  // namespace

Result<MetricSums> scrape_metrics(std::uint16_t port) {
  const std::string decimal = std::to_string(port);
  HttpClient client({.host = "127.0.0.1", .port = decimal});
  const auto answer = client.get("/metrics", kLimits);
  const bool whole = answer.ok() && (answer.value().extent == HttpBody::Whole ||
                                     answer.value().extent == HttpBody::Unsized);
  if (!whole) {
    return Status{StatusCode::Unavailable, "no metrics at 127.0.0.1:" + decimal + "/metrics"};
  }
  MetricSums sums;
  std::istringstream lines{answer.value().body};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t name_end = line.find_first_of("{ ");
    const std::size_t value_begin = line.rfind(' ');
    if (line.empty() || line[0] == '#' || value_begin == std::string::npos) {
      continue;
    }
    sums[line.substr(0, name_end)] += std::strtod(line.c_str() + value_begin, nullptr);
  }
  return sums;
}

}  // namespace gcoord::bench
