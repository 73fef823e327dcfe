// Files and rules that a TLS context is made of.
#pragma once

#include <cstdint>
#include <string>

namespace gcoord::security {

enum class TlsSide : std::uint8_t { Server, Client };

// Paths of PEM files; an empty path: none.
struct TlsFiles {
  std::string certificate;  // The own certificate first, then those between it and the authority.
  std::string key;          // Unencrypted, and nobody but its owner may read or write it.
  std::string authority;    // Who is trusted. A server with none requests no certificates; a client
                            // with none trusts the authorities of the system.
  std::string revoked;      // Revocation lists of the authority, and perhaps of those below it.

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

struct TlsPolicy {
  // A server's: who shows no certificate is refused. Without it a certificate may be shown.
  bool demand_certificate = false;

  friend bool operator==(const TlsPolicy&, const TlsPolicy&) = default;
};

}  // namespace gcoord::security
