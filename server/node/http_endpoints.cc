#include "server/node/http_endpoints.h"

#include "server/endpoints/metrics_page.h"
#include "server/gpu/metrics.h"
#include "server/gpu/sampler.h"
#include "server/health/pages.h"
#include "server/platform/boot_time.h"
#include "server/platform/process_metrics.h"

#include <memory>
#include <optional>
#include <utility>

namespace gcoord::server {
namespace {

// A page that takes its time holds one of them, and two are left for the rest.
constexpr std::uint32_t kOperatorThreads = 3;

// What the pages of operators are made of; outlives their handler.
struct OperatorParts {
  MetricsRegistry& metrics;
  DebugPages& debug;
  HttpGate& gate;
  GpuSampler* gpus;
};

// All pages but those of health.
HttpHandler operator_pages(const OperatorParts& parts) {
  const auto process = std::make_shared<ProcessMetrics>(parts.metrics);
  return [parts, process](const HttpRequest& request) {
    if (auto refusal = parts.gate.refusal(HttpPort::Metrics, request)) {
      return *std::move(refusal);
    }
    if (request.path != "/metrics") {
      return parts.debug.answer(request);
    }
    process->refresh();
    MetricsRegistry of_gpus;
    if (parts.gpus != nullptr) {
      if (const auto sample = parts.gpus->sample()) {
        show_gpus(*sample, of_gpus);
      }
    }
    return metrics_page(parts.metrics, of_gpus);
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

DebugPagesOptions debug_options(const NodeOptions& options,
                                Incarnation incarnation,
                                const ProcessTexts& texts) {
  return {.node = options.node,
          .cluster = options.cluster,
          .cluster_name = options.cluster_name,
          .incarnation = incarnation,
          .cpu_profiles = options.cpu_profiles,
          .texts = texts};
}

}  // namespace

HttpEndpoints::~HttpEndpoints() {
  if (debug_ != nullptr) {
    debug_->stop();
  }
}

std::uint64_t HttpEndpoints::unix_seconds() {
  return wall_ms() / 1000;
}

Status HttpEndpoints::open(const NodeOptions& options, const Pages& pages) {
  gate_.set_cluster(options.cluster);
  if (!options.listen_metrics.empty()) {
    metrics_listen_ = options.listen_metrics;
    debug_ = std::make_unique<DebugPages>(debug_options(options, pages.incarnation, texts_));
    GCOORD_TRY(metrics_,
               HttpServer::open({.port_name = "metrics",
                                 .option = "listen-metrics",
                                 .listen = options.listen_metrics,
                                 .limits = {.threads = kOperatorThreads},
                                 .at_once = health_pages(pages.health.board()),
                                 .tls = pages.tls},
                                operator_pages({pages.metrics, *debug_, gate_, pages.gpus}),
                                pages.metrics));
  }
  if (!options.listen_ledger.empty()) {
    GCOORD_TRY(ledger_,
               LedgerEndpoint::open(to_string(options.listen_ledger),
                                    pages.ledger,
                                    {.metrics = pages.metrics,
                                     .tls = pages.tls,
                                     .refusal =
                                         [this](const HttpRequest& request) {
                                           return gate_.refusal(HttpPort::Ledger, request);
                                         },
                                     .is_private = [this] { return gate_.on(); },
                                     .may_see_secrets =
                                         [this](const HttpRequest& request) {
                                           return gate_.may_see_verifiers(request);
                                         }}));
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
