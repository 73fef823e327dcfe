// Principals: the identities that connections speak for, and those that certificates name.
//
// A principal is nobody that is known, a certificate's subject, a user, a node, or a user of the
// node's machine.
//
// Names of certificates follow these rules, in this order:
//   gcoord://CLUSTER/node/ID or spiffe://TRUST/gcoord/CLUSTER/node/ID   node ID of the cluster
//   gcoord://CLUSTER/user/NAME                                          user NAME of the cluster
//   spiffe://TRUST/PATH                                                 the whole id
//   the first DNS name without a wildcard, else the common name
// CLUSTER is the cluster's id in decimal digits. Who names a cluster and not this one is nobody
// here, whatever else the certificate says: it was issued for another one. A name is 1 to 255 bytes
// of printable UTF-8; a certificate whose first name in this order is none is nobody's.
//
// SPIFFE ids: "The SPIFFE Identity and Verifiable Identity Document", section 2. Pure; values;
// thread-safe.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::security {

inline constexpr std::size_t kPrincipalNameBytesMax = 255;

// Never renumber: the numbers stand in tokens.
enum class PrincipalKind : std::uint8_t {
  Anonymous = 0,    // Has shown nothing.
  Certificate = 1,  // The subject of a certificate that the cluster's authority has signed.
  User = 2,         // A user who has given a password or a token.
  Node = 3,         // A node of the cluster; the name is its id in decimal digits.
  Local = 4,        // A user of the node's machine, by a Unix socket: "unix:uid:1000".
};

// "anonymous", "certificate" and so on.
std::string_view principal_kind_name(PrincipalKind kind);

struct Principal {
  PrincipalKind kind = PrincipalKind::Anonymous;
  std::string name;  // Empty only for Anonymous.

  friend bool operator==(const Principal&, const Principal&) = default;
};

// Whether users and their roles are looked up by the principal's name.
constexpr bool may_be_user(PrincipalKind kind) {
  return kind == PrincipalKind::Certificate || kind == PrincipalKind::User ||
         kind == PrincipalKind::Local;
}

// "user ann", "certificate db1.example.org", "node 2", "anonymous".
std::string to_string(const Principal& principal);

// Who an order is by, for the ledger: the name of a user or of a certificate's subject, "node 2",
// cut to `bytes_max`; empty for Anonymous.
std::string author_text(const Principal& principal, std::size_t bytes_max);

// The user of the machine with this number, as the kernel says it (SO_PEERCRED). No certificate
// names one: kLocalPrefix begins the names of local users only.
Principal local_principal(std::uint32_t uid);

inline constexpr std::string_view kLocalPrefix = "unix:";

// Whether a principal may have this name.
bool principal_name_valid(std::string_view name);

// The names of a verified certificate, as the TLS room has them; views for the call only.
struct CertificateNames {
  const std::vector<std::string>& uris;
  const std::vector<std::string>& dns;
  std::string_view common_name;
};

// Anonymous if the certificate names nobody whom this cluster knows.
Principal principal_of(const CertificateNames& names, ClusterId cluster);

}  // namespace gcoord::security
