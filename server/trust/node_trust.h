// The secret of the cluster as a node has it, and what it demands of its peers by it
// (docs/adr/0120).
//
// The secret is read from the file of --cluster-secret, else from cluster.secret in the data
// directory if that is there. Without one the node speaks to its peers as releases before proofs
// did. reload() reads it again: the network of peers sees the new keys in its next turn. `secret`
// may be called by any thread, the rest by the node's.
#pragma once

#include "common/status.h"
#include "netcore/peers/proofs.h"
#include "netcore/tls/rules.h"
#include "protocol/members/join_messages.h"
#include "security/secret/cluster_secret.h"
#include "server/options/options.h"
#include "server/tls/own_files.h"
#include "server/trust/join_secret.h"
#include "server/trust/proven_nodes.h"
#include "server/trust/stranger_lines.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::server {

class NodeTrust {
 public:
  // Failures: those of ClusterSecret::read, LinkTlsRules::open and judge_own_files(), and GC3128
  // when proofs are required and there is no secret. Without `own` the names of certificates are
  // not checked here.
  static Result<std::unique_ptr<NodeTrust>> open(const NodeOptions& options,
                                                 const OwnNode& own = {});

  // For the network of peers, which this outlives.
  netcore::PeerProofOptions peer_proof();

  // TLS with the peers, never nullptr: off while this node has no certificate and authority, which
  // a reload may bring.
  std::shared_ptr<const netcore::LinkTlsRules> peer_tls() const { return peer_tls_; }

  // With every pass; about every second it loads certificates that have become others. `now_ms`: of
  // a clock that only grows.
  void look(std::uint64_t now_ms);

  // nullptr: there is none.
  std::shared_ptr<const security::ClusterSecret> secret() const;

  // Whether other nodes must prove that they have it.
  bool requires_proofs() const { return requires_proofs_; }

  // As seal_join_secret; empty: there is none.
  std::vector<std::byte> seal_secret(const protocol::JoinToken& token,
                                     const JoinedNode& joined) const;

  // The files and options of the moment. What fails, the proofs or TLS, stays as it was, and the
  // other does not.
  Status reload(const NodeOptions& options);

 private:
  NodeTrust(const NodeOptions& options, const OwnNode& own);

  Status take(const NodeOptions& options);
  Status take_tls(const TlsChoices& choices);
  void guard(const NodeOptions& options) const;

  static constexpr std::uint64_t kLookMs = 1000;

  std::string data_dir_;
  OwnNode own_;
  bool must_name_ = false;  // As OwnRules.
  ProvenNodes proven_;
  StrangerLines strangers_;  // The thread of the network.
  std::shared_ptr<netcore::ProofSource> source_ =
      std::make_shared<netcore::ProofSource>(netcore::ProofKeys{}, netcore::ProofDemand::Off);
  std::shared_ptr<netcore::LinkTlsRules> peer_tls_ = netcore::LinkTlsRules::none();
  std::uint64_t next_look_ms_ = 0;
  bool requires_proofs_ = false;
  mutable std::mutex mutex_;
  std::shared_ptr<const security::ClusterSecret> secret_;
};

// Copies the secret of the directory `from` to `to`, which takes its place; does nothing if `from`
// has none, or `to` one already.
Status carry_secret(const std::string& from, const std::string& to);

}  // namespace gcoord::server
