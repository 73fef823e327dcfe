#include "server/node/http_endpoints.h"

namespace gcoord::server {

Status HttpEndpoints::open(const NodeOptions& options,
                           const LedgerView& ledger,
                           MetricsRegistry& metrics) {
  if (!options.listen_metrics.empty()) {
    GCOORD_TRY(metrics_, MetricsEndpoint::open(options.listen_metrics, metrics));
  }
  if (!options.listen_ledger.empty()) {
    GCOORD_TRY(ledger_, LedgerEndpoint::open(to_string(options.listen_ledger), ledger, metrics));
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
