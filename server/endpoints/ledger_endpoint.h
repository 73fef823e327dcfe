// The HTTP port of a node's ledger: read-only, for auditors and mirrors (ledger_pages.h says what).
//
// GET and HEAD of paths, nothing else; everything here is signed. With rights switched on a page
// may be for some clients only (server/gate/http_gate.h). Requests never touch the node's loop.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/http/server.h"
#include "server/interfaces/ledger_view.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::server {

class LedgerEndpoint {
 public:
  // What outlives the endpoint.
  struct Environment {
    MetricsRegistry& metrics;
    const PortTls* tls = nullptr;  // As HttpServerOptions::tls.
    // The answer to a client that may not have the page; nothing: it may. Called by all threads of
    // the port. Empty: everybody may have all pages.
    std::function<std::optional<HttpAnswer>(const HttpRequest&)> refusal = {};
    // Whether pages are for some clients only. Empty: never.
    std::function<bool()> is_private = {};
    // Whether a client may have entries with secrets whole; by all threads of the port. Empty:
    // nobody may.
    std::function<bool(const HttpRequest&)> may_see_secrets = {};
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
