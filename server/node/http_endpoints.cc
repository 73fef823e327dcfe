#include "server/node/http_endpoints.h"

#include "server/endpoints/metrics_page.h"
#include "server/gpu/metrics.h"
#include "server/gpu/nvml.h"
#include "server/health/pages.h"
#include "server/platform/process_metrics.h"

#include <memory>
#include <utility>

namespace gcoord::server {
namespace {

// Of a node that may work on a GPU; nothing where NVML shows none.
std::shared_ptr<GpuMetrics> gpu_metrics(const DeviceChoice& device, MetricsRegistry& metrics) {
  const bool wanted =
      device.kind == DeviceChoice::Kind::Cuda || device.kind == DeviceChoice::Kind::Auto;
  auto nvml = wanted ? Nvml::open() : Result<std::unique_ptr<Nvml>>{nullptr};
  return nvml.ok() && nvml.value() != nullptr
             ? std::make_shared<GpuMetrics>(metrics, std::move(nvml).value())
             : nullptr;
}

HttpHandler operator_pages(const HealthBoard& health,
                           MetricsRegistry& metrics,
                           const DeviceChoice& device) {
  const auto process = std::make_shared<ProcessMetrics>(metrics);
  const auto gpus = gpu_metrics(device, metrics);
  return [&health, &metrics, process, gpus](const HttpRequest& request) {
    if (request.path == "/metrics") {
      process->refresh();
      if (gpus != nullptr) {
        gpus->refresh();
      }
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
    metrics_listen_ = options.listen_metrics;
    GCOORD_TRY(metrics_,
               HttpServer::open({.port_name = "metrics",
                                 .option = "listen-metrics",
                                 .listen = options.listen_metrics,
                                 .limits = {}},
                                operator_pages(pages.health.board(), pages.metrics, options.device),
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

std::string HttpEndpoints::metrics_address() const {
  return metrics_ == nullptr ? "" : to_string(Endpoint{metrics_listen_.host, metrics_->port()});
}

std::uint16_t HttpEndpoints::ledger_port() const {
  return ledger_ == nullptr ? std::uint16_t{0} : ledger_->port();
}

}  // namespace gcoord::server
