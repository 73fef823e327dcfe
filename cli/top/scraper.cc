#include "cli/top/scraper.h"

#include "server/platform/endpoint_name.h"

#include <string_view>
#include <utility>

namespace gcoord::cli::top {

namespace {

// A name in DNS, a port and brackets (RFC 1035, section 2.3.4). Errors repeat it.
constexpr std::size_t kToldBytesMax = 300;

}  // namespace

Result<HttpOrigin> metrics_origin(const std::string& told, const std::string& endpoint) {
  if (told.empty()) {
    return Status{StatusCode::Unavailable, "the node has none (--listen-metrics)"};
  }
  if (told.size() > kToldBytesMax) {
    return Status{StatusCode::InvalidArgument, "the node reports an address that is none"};
  }
  GCOORD_TRY(const server::Endpoint metrics, server::parse_endpoint(told));
  GCOORD_TRY(const server::Endpoint clients, server::parse_endpoint(endpoint));
  if (server::is_loopback(metrics) && !server::is_loopback(clients)) {
    return Status{StatusCode::Unavailable,
                  "the node shows them on its own machine only, at " + told};
  }
  return HttpOrigin{clients.host, std::to_string(metrics.port)};
}

Result<MetricsPage> Scraper::read(const std::string& told, const std::string& endpoint) {
  GCOORD_TRY(HttpOrigin origin, metrics_origin(told, endpoint));
  if (http_ == nullptr || origin.host != origin_.host || origin.port != origin_.port) {
    origin_ = std::move(origin);
    http_ = std::make_unique<HttpClient>(
        origin_, HttpOptions{.connection = HttpConnection::Kept, .tls = options_.tls});
  }
  GCOORD_TRY(
      const HttpResponse response,
      http_->get("/metrics", {.timeout = options_.timeout, .body_bytes_max = kScrapeBytesMax}));
  if (response.status != 200 || response.extent == HttpBody::Cut ||
      response.extent == HttpBody::TooLong) {
    return Status{StatusCode::Unavailable,
                  "no whole page came (HTTP " + std::to_string(response.status) + ")"};
  }
  return MetricsPage::parse(response.body);
}

}  // namespace gcoord::cli::top
