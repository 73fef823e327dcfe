#include "server/identities/connection_proof.h"

#include "security/limits/network.h"

#include <algorithm>
#include <string>

namespace gcoord::server {

using protocol::ProofKind;

namespace {

std::string address_text(const ConnectionIdentity& identity) {
  if (identity.port == 0) {
    return "unix";
  }
  const std::string address = to_string(security::Network{.bits = identity.address});
  const bool brackets = address.find(':') != std::string::npos;
  return (brackets ? "[" + address + "]" : address) + ":" + std::to_string(identity.port);
}

}  // namespace

void prove_by_origin(ConnectionIdentity& identity,
                     const ConnectionOrigin& origin,
                     ClusterId cluster) {
  if (const security::TlsPeer* const peer = origin.peer; peer != nullptr) {
    identity.principal =
        security::principal_of({peer->uris, peer->dns, peer->common_name}, cluster);
    identity.proof = {ProofKind::Certificate,
                      static_cast<std::uint64_t>(std::max<std::int64_t>(peer->not_after_s, 0))};
  } else if (origin.local_user) {
    identity.principal = security::local_principal(*origin.local_user);
    identity.proof = {ProofKind::UnixSocket, 0};
  }
  if (!origin.local_user) {
    identity.address = origin.address;
    identity.port = origin.port;
  }
}

protocol::AccessSelf self_of(ConnectionIdentities& connections, protocol::ConnectionId connection) {
  protocol::AccessSelf self;
  const ConnectionIdentity* const known = connections.identity(connection);
  if (known == nullptr) {
    return self;
  }
  self.principal = known->principal;
  self.address = address_text(*known);
  // Of an anonymous client too where it showed a certificate: it names nobody of this cluster.
  if (known->principal.kind != security::PrincipalKind::Anonymous ||
      has_foreign_certificate(*known)) {
    self.proof = known->proof.kind;
    self.until_ms = known->proof.until_s * 1000;
  }
  return self;
}

}  // namespace gcoord::server
