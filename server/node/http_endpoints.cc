#include "server/node/http_endpoints.h"

#include "server/endpoints/metrics_page.h"
#include "server/health/pages.h"
#include "server/platform/process_metrics.h"

#include <memory>

namespace gcoord::server {
namespace {

HttpHandler operator_pages(const HealthBoard& health, MetricsRegistry& metrics) {
  const auto process = std::make_shared<ProcessMetrics>(metrics);
  return [&health, &metrics, process](const HttpRequest& request) {
    if (request.path == "/metrics") {
      process->refresh();
      return metrics_page(metrics);
    }
    if (request.path == "/livez") {
      return livez_page(health.report(), request);
    }
    if (request.path == "/readyz") {
      return readyz_page(health.report(), request);
    }
    return not_found();
  };
}

}  // namespace

Status HttpEndpoints::open(const NodeOptions& options, const Pages& pages) {
  if (!options.listen_metrics.empty()) {
    GCOORD_TRY(metrics_,
               HttpServer::open({.port_name = "metrics",
                                 .option = "listen-metrics",
                                 .listen = options.listen_metrics,
                                 .limits = {}},
                                operator_pages(pages.health.board(), pages.metrics),
                                pages.metrics));
  }
  if (!options.listen_ledger.empty()) {
    GCOORD_TRY(ledger_,
               LedgerEndpoint::open(to_string(options.listen_ledger), pages.ledger, pages.metrics));
  }
  return Status{};
}

std::uint16_t HttpEndpoints::metrics_port() const {
  return metrics_ == nullptr ? std::uint16_t{0} : metrics_->port();
}

std::uint16_t HttpEndpoints::ledger_port() const {
  return ledger_ == nullptr ? std::uint16_t{0} : ledger_->port();
}

}  // namespace gcoord::server
