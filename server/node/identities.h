// Authentication in a node: its users, its secret, and the requests of clients about both.
//
// The loop's thread; the worker's thread only checks passwords.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "server/identities/connection_identity.h"
#include "server/identities/identity_metrics.h"
#include "server/identities/identity_requests.h"
#include "server/identities/password_worker.h"
#include "server/identities/user_directory.h"
#include "server/options/options.h"

#include <cstdint>
#include <functional>

namespace gcoord::server {

class NodeIdentities {
 public:
  // All outlive it.
  struct Environment {
    protocol::ReplySink& replies;
    ConnectionIdentities& connections;
    MetricsRegistry& metrics;
    std::function<std::uint64_t()> now_ms;
    std::function<void()> wake;
  };

  NodeIdentities(const Environment& environment, const NodeOptions& options);
  NodeIdentities(const NodeIdentities&) = delete;
  NodeIdentities& operator=(const NodeIdentities&) = delete;

  IdentityRequests& requests() { return requests_; }

  // For whoever makes verifiers of new passwords.
  PasswordWorker& passwords() { return passwords_; }

 private:
  NoUsers users_;
  IdentityMetrics metrics_;
  PasswordWorker passwords_;
  IdentityRequests requests_;
};

}  // namespace gcoord::server
