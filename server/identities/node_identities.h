// Authentication in a node: its users, its secret, and the requests of clients about both.
//
// The loop's thread; the worker's thread only checks and hashes passwords.
#pragma once

#include "common/host/metrics.h"
#include "protocol/reply_sink.h"
#include "security/secret/cluster_secret.h"
#include "server/identities/connection_identity.h"
#include "server/identities/identity_metrics.h"
#include "server/identities/identity_requests.h"
#include "server/identities/password_worker.h"
#include "server/identities/table_users.h"
#include "server/identities/user_directory.h"
#include "server/platform/choices.h"

#include <functional>

namespace gcoord::server {

// Keys derived from a cluster's secret for this room.
IdentityKeys identity_keys(const security::ClusterSecret& secret);

class NodeIdentities {
 public:
  // All outlive it.
  struct Environment {
    protocol::ReplySink& replies;
    ConnectionIdentities& connections;
    const UserDirectory& users;
    MetricsRegistry& metrics;
    std::function<std::uint64_t()> now_ms;
    std::function<void()> wake;
    std::uint64_t token_life_s = kTokenLifeSeconds;
  };

  NodeIdentities(const Environment& environment, SessionKeyMode mode);
  NodeIdentities(const NodeIdentities&) = delete;
  NodeIdentities& operator=(const NodeIdentities&) = delete;

  // The secret of the cluster from now on; nullptr: it has none.
  void set_secret(const security::ClusterSecret* secret);

  // The keys of tokens that set_secret() derived; for whoever checks tokens beside this.
  const security::TokenRing& tokens() const { return requests_.tokens(); }

  IdentityRequests& requests() { return requests_; }

  // For whoever makes verifiers of new passwords.
  PasswordWorker& passwords() { return passwords_; }

 private:
  IdentityMetrics metrics_;
  PasswordWorker passwords_;
  IdentityRequests requests_;
};

}  // namespace gcoord::server
