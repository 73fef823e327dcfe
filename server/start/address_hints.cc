#include "server/start/address_hints.h"

#include <algorithm>

namespace gcoord::server {

AddressHints::AddressHints(std::span<const PeerHint> given,
                           std::span<const KeptHint> before,
                           const protocol::ClusterView& view) {
  for (const PeerHint& hint : given) {
    const auto known = std::ranges::find_if(before, [&](const KeptHint& each) {
      return each.node == hint.node && each.address == hint.address;
    });
    const protocol::Member* const member = protocol::find_member(view, hint.node);
    const bool repeated = known != before.end();
    kept_.push_back({hint.node,
                     hint.address,
                     repeated            ? known->view_address
                     : member != nullptr ? member->peer_address
                                         : std::string{}});
  }
  std::ranges::sort(kept_, {}, &KeptHint::node);
}

const KeptHint* AddressHints::hint_of(NodeId node) const {
  const auto found = std::ranges::lower_bound(kept_, node, {}, &KeptHint::node);
  return found != kept_.end() && found->node == node ? &*found : nullptr;
}

std::string AddressHints::address_of(const protocol::Member& member) const {
  const KeptHint* const hint = hint_of(member.id);
  const bool counts =
      hint != nullptr && (member.peer_address.empty() || member.peer_address == hint->view_address);
  return counts ? hint->address : member.peer_address;
}

void AddressHints::apply(protocol::ClusterView& view) const {
  for (protocol::Member& member : view.nodes) {
    if (member.state != protocol::MemberState::Removed) {
      member.peer_address = address_of(member);
    }
  }
}

std::vector<std::string> AddressHints::differences(const protocol::ClusterView& view) const {
  std::vector<std::string> lines;
  for (const KeptHint& hint : kept_) {
    const std::string says =
        "--peer names node " + std::to_string(hint.node.value) + " at " + hint.address;
    const protocol::Member* const member = protocol::find_member(view, hint.node);
    const std::string of_view = "view " + std::to_string(view.epoch);
    if (member == nullptr) {
      lines.push_back(says + "; " + of_view + " has no such node: it is left out");
    } else if (member->state == protocol::MemberState::Removed) {
      lines.push_back(says + "; it has left the cluster: it is left out");
    } else if (!member->peer_address.empty() && member->peer_address != hint.address) {
      const bool counts = address_of(*member) == hint.address;
      lines.push_back(
          says + ", " + of_view + " at " + member->peer_address + ": " +
          (counts ? "--peer counts until the view changes it" : "the view is newer and counts"));
    }
  }
  return lines;
}

}  // namespace gcoord::server
