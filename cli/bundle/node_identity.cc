#include "cli/bundle/node_identity.h"

#include "cli/doctor/facts.h"
#include "common/json/text.h"

#include <limits>

namespace gcoord::cli {

std::optional<NodeIdentity> identity_of(const std::string& build_page) {
  NodeFacts facts;
  facts.report = parse_json(build_page);
  const auto node = facts.number("node").value_or(0);
  const auto cluster = facts.number("cluster_id").value_or(0);
  if (node == 0 || node > std::numeric_limits<std::uint32_t>::max() || cluster == 0) {
    return std::nullopt;
  }
  return NodeIdentity{.cluster = cluster,
                      .node = static_cast<std::uint32_t>(node),
                      .incarnation = facts.number("incarnation").value_or(0)};
}

bool same_node(const NodeIdentity& a, const NodeIdentity& b) {
  const bool one_life = a.incarnation == b.incarnation || a.incarnation == 0 || b.incarnation == 0;
  return a.cluster == b.cluster && a.node == b.node && one_life;
}

std::string name_of(const NodeIdentity& identity) {
  return "node " + std::to_string(identity.node) + " of cluster " +
         std::to_string(identity.cluster);
}

}  // namespace gcoord::cli
