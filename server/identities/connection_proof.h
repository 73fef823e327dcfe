// Proofs of a connection: who it is by what it came with, before it shows a password or a token.
//
// The loop's thread.
#pragma once

#include "common/ids.h"
#include "security/tls/peer.h"
#include "server/identities/connection_identity.h"

#include <cstdint>
#include <optional>

namespace gcoord::server {

// The proof that a connection came with, before it shows a password or a token.
struct ConnectionOrigin {
  const security::TlsPeer* peer = nullptr;  // Of a certificate that it showed; none: nullptr.
  std::optional<std::uint32_t> local_user;  // Of a Unix socket.
  SourceBits address{};                     // Of any other one, IPv4 mapped into IPv6,
  std::uint16_t port = 0;                   // and its port; 0: unknown.
};

// Sets the principal, its proof and the address.
void prove_by_origin(ConnectionIdentity& identity,
                     const ConnectionOrigin& origin,
                     ClusterId cluster);

}  // namespace gcoord::server
