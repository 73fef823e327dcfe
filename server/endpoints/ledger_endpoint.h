// The HTTP port of a node's ledger: read-only, for auditors and mirrors (ledger_pages.h says what).
//
// GET and HEAD of paths, nothing else; no TLS and no secrets, since everything here is signed. It
// has a fixed number of threads of its own, one connection each, one request a connection; what a
// client may take of them is bounded by kRequestTimeout. Requests never touch the node's loop. By
// civetweb, which also carries /metrics.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/interfaces/ledger_view.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gcoord::server {

// Connections answered at once; as many again may wait.
inline constexpr int kLedgerConnections = 8;

// Of a request's line and headers; ours have some hundred.
inline constexpr std::size_t kLedgerRequestBytesMax = 4096;

// For a request to arrive, and for a write of an answer to make headway.
inline constexpr std::chrono::milliseconds kLedgerRequestTimeout{10'000};

class LedgerEndpoint {
 public:
  // `address` is numeric or localhost, "127.0.0.1:0"; with port 0 the system chooses. ListenFailed
  // when it cannot be bound. View and registry outlive the endpoint.
  static Result<std::unique_ptr<LedgerEndpoint>> open(const std::string& address,
                                                      const LedgerView& view,
                                                      MetricsRegistry& metrics);
  // Waits for the requests under way.
  ~LedgerEndpoint();
  LedgerEndpoint(const LedgerEndpoint&) = delete;
  LedgerEndpoint& operator=(const LedgerEndpoint&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  explicit LedgerEndpoint(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
