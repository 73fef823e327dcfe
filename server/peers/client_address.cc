#include "server/peers/client_address.h"

#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

// A host name has at most 255 bytes; a colon, brackets and a port come to it.
constexpr std::size_t kAddressBytes = 263;

}  // namespace

std::vector<std::byte> encode_client_address(std::string_view address) {
  std::vector<std::byte> message(1 + address.size(), kClientAddressKind);
  std::memcpy(message.data() + 1, address.data(), address.size());
  return message;
}

std::optional<std::string> decode_client_address(std::span<const std::byte> message) {
  if (message.size() < 2 || message.size() > 1 + kAddressBytes ||
      message.front() != kClientAddressKind) {
    return std::nullopt;
  }
  const auto text = message.subspan(1);
  std::string address(reinterpret_cast<const char*>(text.data()), text.size());
  return parse_endpoint(address).ok() ? std::optional(std::move(address)) : std::nullopt;
}

bool learn_client_address(protocol::Welcome& welcome, NodeId node, std::string_view address) {
  const auto known = std::find_if(welcome.nodes.begin(),
                                  welcome.nodes.end(),
                                  [&](const auto& each) { return each.node == node; });
  if (known == welcome.nodes.end() || known->address == address) {
    return false;
  }
  known->address = address;
  return true;
}

bool set_members(protocol::Welcome& welcome, const ClusterMembers& members) {
  if (members.view.epoch == 0 || members.view.epoch < welcome.view_epoch) {
    return false;
  }
  std::vector<protocol::NodeAddress> nodes;
  for (const NodeId node : nodes_of(members.view)) {
    const auto known = std::ranges::find(welcome.nodes, node, &protocol::NodeAddress::node);
    const std::string& address = protocol::find_member(members.view, node)->client_address;
    nodes.push_back(
        {node, address.empty() && known != welcome.nodes.end() ? known->address : address});
  }
  const auto same = [](const protocol::NodeAddress& a, const protocol::NodeAddress& b) {
    return a.node == b.node && a.address == b.address;
  };
  const bool changed =
      welcome.view_epoch != members.view.epoch || !std::ranges::equal(nodes, welcome.nodes, same);
  welcome.view_epoch = members.view.epoch;
  welcome.nodes = std::move(nodes);
  return changed;
}

}  // namespace gcoord::server
