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

// A page that takes its time holds one of them, and two are left for the rest.
constexpr std::uint32_t kOperatorThreads = 3;

HttpHandler operator_pages(const HttpEndpoints::Pages& pages,
                           const DeviceChoice& device,
                           DebugPages& debug) {
  const HealthBoard& health = pages.health.board();
  MetricsRegistry& metrics = pages.metrics;
  const auto process = std::make_shared<ProcessMetrics>(metrics);
  const auto gpus = gpu_metrics(device, metrics);
  return [&health, &metrics, process, gpus, &debug](const HttpRequest& request) {
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
    return debug.answer(request);
  };
}

DebugPagesOptions debug_options(const NodeOptions& options, const ProcessTexts& texts) {
  return {.node = options.node,
          .cluster = options.cluster,
          .cluster_name = options.cluster_name,
          .cpu_profiles = options.cpu_profiles,
          .texts = texts};
}

}  // namespace

HttpEndpoints::~HttpEndpoints() {
  if (debug_ != nullptr) {
    debug_->stop();
  }
}

Status HttpEndpoints::open(const NodeOptions& options, const Pages& pages) {
  if (!options.listen_metrics.empty()) {
    metrics_listen_ = options.listen_metrics;
    debug_ = std::make_unique<DebugPages>(debug_options(options, texts_));
    GCOORD_TRY(metrics_,
               HttpServer::open({.port_name = "metrics",
                                 .option = "listen-metrics",
                                 .listen = options.listen_metrics,
                                 .limits = {.threads = kOperatorThreads}},
                                operator_pages(pages, options.device, *debug_),
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
