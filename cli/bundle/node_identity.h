// The identity of a node behind an address: which cluster, which node of it, and which of its
// lives.
//
// Two names of one node have one identity, and two nodes never do. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

struct NodeIdentity {
  std::uint64_t cluster = 0;      // 0: not known.
  std::uint32_t node = 0;         // Likewise.
  std::uint64_t incarnation = 0;  // 0: not told, as by releases before the member.
};

// What a page /debug/build tells; nothing when it does not name both the cluster and the node.
std::optional<NodeIdentity> identity_of(const std::string& build_page);

// Whether both are one process of one node. An incarnation that is not told may be any.
bool same_node(const NodeIdentity& a, const NodeIdentity& b);

// "node 3 of cluster 77".
std::string name_of(const NodeIdentity& identity);

}  // namespace gcoord::cli
