// Holders of certificates: a node of a cluster, a user of it, or the cluster's CA.
//
// A node or user stands as a URI in the certificate's subject alternative names (RFC 5280, section
// 4.2.1.6): gcoord://CLUSTER/node/ID, gcoord://CLUSTER/user/NAME, with the cluster's id in decimal.
// An identity of SPIFFE is read as well: spiffe://TRUST/gcoord/CLUSTER/node/ID. The CA of a cluster
// has gcoord://CLUSTER/ca. Names need no escapes, because they have only letters, digits and a few
// signs. Pure; thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::certificates {

enum class HolderKind : std::uint8_t { Node, User, Authority };

struct Holder {
  HolderKind kind{};
  std::uint64_t cluster = 0;
  std::uint32_t node = 0;  // Of a node, above 0.
  std::string user;        // Of a user.

  bool operator==(const Holder&) const = default;
};

// 1 to 64 letters, digits and "-._~@+": what fits a common name, and a URI without escapes.
bool is_user_name(std::string_view name);

// kHolderInvalid for cluster 0, node 0, or a user without a name as above.
Status check_holder(const Holder& holder);

// "node-3", "alice", "ca": the certificate's common name, and the beginning of its files' names.
std::string holder_name(const Holder& holder);

std::string uri_of(const Holder& holder);

// Nothing of any other URI, and of one with a leading zero or an id that is too large.
std::optional<Holder> parse_holder(std::string_view uri);

}  // namespace gcoord::certificates
