// Sum of a metric over the nodes of a cluster, and over its lines that begin so.
#pragma once

#include "chaos/process/local_cluster.h"
#include "tests/cli/programs.h"

#include <asio/ip/tcp.hpp>

#include <cstdint>
#include <string>

namespace gcoord::cli {

inline std::uint64_t metric_sum(const chaos::LocalCluster& cluster, const std::string& begin) {
  std::uint64_t total = 0;
  for (std::uint32_t node = 1; node <= 3; ++node) {
    asio::ip::tcp::iostream stream;
    stream.expires_after(kPatience);
    stream.connect("127.0.0.1", std::to_string(cluster.metrics_port(node)));
    stream << "GET /metrics HTTP/1.0\r\nHost: node\r\n\r\n" << std::flush;
    for (std::string line; std::getline(stream, line);) {
      if (line.starts_with(begin)) {
        total += std::stoull(line.substr(line.rfind(' ') + 1));
      }
    }
  }
  return total;
}

}  // namespace gcoord::cli
