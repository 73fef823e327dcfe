#include "server/node/http_endpoints.h"

#include "server/endpoints/metrics_page.h"
#include "server/gpu/metrics.h"
#include "server/gpu/sampler.h"
#include "server/health/pages.h"
#include "server/platform/process_metrics.h"

#include <memory>
#include <optional>
#include <utility>

namespace gcoord::server {
namespace {

// Of a node that may work on a GPU.
bool may_use_gpu(const DeviceChoice& device) {
  return device.kind == DeviceChoice::Kind::Cuda || device.kind == DeviceChoice::Kind::Auto;
}

HttpHandler operator_pages(MetricsRegistry& metrics, GpuSource gpus) {
  const auto process = std::make_shared<ProcessMetrics>(metrics);
  const auto sampler =
      gpus ? std::make_shared<GpuSampler>(std::move(gpus)) : std::shared_ptr<GpuSampler>();
  return [&metrics, process, sampler](const HttpRequest& request) {
    if (request.path != "/metrics") {
      return not_found();
    }
    process->refresh();
    MetricsRegistry of_gpus;
    if (sampler != nullptr) {
      if (const auto sample = sampler->sample()) {
        show_gpus(*sample, of_gpus);
      }
    }
    return metrics_page(metrics, of_gpus);
  };
}

// Answered though every handler waits for something: a node is not dead because a scrape is slow.
HttpAnswerAtOnce health_pages(const HealthBoard& health) {
  return [&health](const HttpRequest& request) -> std::optional<HttpAnswer> {
    if (request.path == "/livez") {
      return livez_page(health.report(), request);
    }
    if (request.path == "/readyz") {
      return readyz_page(health.report(), request);
    }
    return std::nullopt;
  };
}

}  // namespace

Status HttpEndpoints::open(const NodeOptions& options, const Pages& pages) {
  if (!options.listen_metrics.empty()) {
    GpuSource gpus = may_use_gpu(options.device) ? pages.gpus : GpuSource{};
    GCOORD_TRY(metrics_,
               HttpServer::open({.port_name = "metrics",
                                 .option = "listen-metrics",
                                 .listen = options.listen_metrics,
                                 .limits = {},
                                 .at_once = health_pages(pages.health.board())},
                                operator_pages(pages.metrics, std::move(gpus)),
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
