// The page of metrics of one node, read over HTTP at the port that its status report names.
//
// Bounded, whatever the other side sends: kScrapeBytesMax and a time limit. One thread at a time.
#pragma once

#include "cli/top/samples/metrics_page.h"
#include "common/http/client.h"
#include "common/status.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace gcoord::cli::top {

// Some forty times the page of a node with seven peers.
inline constexpr std::size_t kScrapeBytesMax = std::size_t{4} << 20;

// From where to read: the host of `endpoint`, by which the user reaches the node, and the port of
// `told`, the address as the node reports it. A report names no host, or a node that lies would
// choose whom this machine sends requests to. Unavailable for a node that has no metrics or listens
// on loopback of another machine, InvalidArgument for no address.
Result<HttpOrigin> metrics_origin(const std::string& told, const std::string& endpoint);

struct ScrapeOptions {
  std::chrono::milliseconds timeout{};
  HttpTls tls{};
};

class Scraper {
 public:
  // By https where `tls` is enabled, as the client speaks with the nodes.
  explicit Scraper(const ScrapeOptions& options) : options_(options) {}

  // Also Unavailable when no whole page came in time.
  Result<MetricsPage> read(const std::string& told, const std::string& endpoint);

 private:
  ScrapeOptions options_;
  HttpOrigin origin_;
  std::unique_ptr<HttpClient> http_;  // To `origin_`, kept between readings.
};

}  // namespace gcoord::cli::top
