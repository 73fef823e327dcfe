// The HTTP port of a node's ledger: read-only, for auditors and mirrors (ledger_pages.h says what).
//
// GET and HEAD of paths, nothing else; no secrets, since everything here is signed.
// Requests never touch the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/http/server.h"
#include "server/interfaces/ledger_view.h"

#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::server {

class LedgerEndpoint {
 public:
  // What outlives the endpoint.
  struct Environment {
    MetricsRegistry& metrics;
    const PortTls* tls = nullptr;  // As HttpServerOptions::tls.
  };

  // `address` is "HOST:PORT"; with port 0 the system chooses. ListenFailed when it cannot be bound.
  // The view outlives the endpoint.
  static Result<std::unique_ptr<LedgerEndpoint>> open(const std::string& address,
                                                      const LedgerView& view,
                                                      const Environment& environment);

  std::uint16_t port() const { return server_->port(); }

 private:
  explicit LedgerEndpoint(std::unique_ptr<HttpServer> server) : server_(std::move(server)) {}

  std::unique_ptr<HttpServer> server_;
};

}  // namespace gcoord::server
