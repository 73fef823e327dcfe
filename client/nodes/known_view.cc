#include "client/nodes/known_view.h"

#include "protocol/members/voters.h"

#include <algorithm>
#include <utility>

namespace gcoord::client {

void KnownView::begin(const protocol::Welcome& welcome) {
  if (view_.epoch != 0) {
    return;
  }
  std::vector<NodeId> nodes;
  for (const protocol::NodeAddress& node : welcome.nodes) {
    nodes.push_back(node.node);
  }
  voters_.lists = {std::move(nodes)};
}

void KnownView::hear(std::uint64_t epoch) {
  heard_ = std::max(heard_, epoch);
}

// A node that does not say which views are left says nothing against those that counted so far.
bool KnownView::take(const protocol::ViewAnswer& answer) {
  const bool newer = answer.view.epoch > view_.epoch;
  const bool same = answer.view.epoch == view_.epoch && answer.settled > settled_;
  if (answer.view.epoch == 0 || answer.view.epoch != answer.newest || (!newer && !same)) {
    return false;
  }
  VoterLists voters{{protocol::view_voters(answer.view)}};
  const auto add = [&voters](const std::vector<NodeId>& list) {
    if (!list.empty() && std::ranges::find(voters.lists, list) == voters.lists.end()) {
      voters.lists.push_back(list);
    }
  };
  std::ranges::for_each(answer.earlier_voters, add);
  if (answer.settled == 0) {
    std::ranges::for_each(voters_.lists, add);
  }
  if (voters.lists.front().empty()) {
    return false;  // No node sends this.
  }
  hear(answer.view.epoch);
  settled_ = std::max(settled_, answer.settled);
  view_ = answer.view;
  voters_ = std::move(voters);
  return true;
}

bool KnownView::has_left(NodeId node) const {
  const protocol::Member* const member = protocol::find_member(view_, node);
  return member != nullptr && member->state == protocol::MemberState::Removed;
}

bool KnownView::is_witness(NodeId node) const {
  const protocol::Member* const member = protocol::find_member(view_, node);
  return member != nullptr && member->role == protocol::MemberRole::Witness;
}

std::vector<protocol::NodeAddress> addresses_of(const protocol::ClusterView& view,
                                                std::span<const protocol::NodeAddress> known) {
  std::vector<protocol::NodeAddress> nodes;
  for (const NodeId node : protocol::view_nodes(view)) {
    const auto place = std::ranges::find(known, node, &protocol::NodeAddress::node);
    std::string address = protocol::find_member(view, node)->client_address;
    if (address.empty() && place != known.end()) {
      address = place->address;
    }
    nodes.push_back({node, std::move(address)});
  }
  return nodes;
}

}  // namespace gcoord::client
