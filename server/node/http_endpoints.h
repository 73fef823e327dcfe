// The HTTP ports of a node, each only if its option names an address: metrics, and the ledger.
//
// Both have threads of their own and read what outlives this: the registry and the ledger. One
// thread opens, asks and ends it.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/endpoints/ledger_endpoint.h"
#include "server/endpoints/metrics_endpoint.h"
#include "server/interfaces/ledger_view.h"
#include "server/options/options.h"

#include <cstdint>
#include <memory>

namespace gcoord::server {

class HttpEndpoints {
 public:
  // Once. ListenFailed: an address cannot be bound.
  Status open(const NodeOptions& options, const LedgerView& ledger, MetricsRegistry& metrics);

  // The port that is listened on; 0 if it is off, and before open().
  std::uint16_t metrics_port() const;
  std::uint16_t ledger_port() const;

 private:
  std::unique_ptr<MetricsEndpoint> metrics_;
  std::unique_ptr<LedgerEndpoint> ledger_;
};

}  // namespace gcoord::server
