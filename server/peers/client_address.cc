#include "server/peers/client_address.h"

#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

// A host name has at most 255 bytes; a colon, brackets and a port come to it.
constexpr std::size_t kAddressBytes = 263;

bool has_address(std::span<const protocol::NodeAddress> nodes,
                 NodeId other_than,
                 std::string_view address) {
  return std::ranges::any_of(nodes, [&](const protocol::NodeAddress& each) {
    return each.node != other_than && each.address == address;
  });
}

// Where the node itself can be reached, it knows better than a view that follows it. Two nodes at
// one address help nobody: then the view decides, and only for as long as it names the other there.
void keep_own_address(const protocol::NodeAddress& own, std::span<protocol::NodeAddress> nodes) {
  const auto place = std::ranges::find(nodes, own.node, &protocol::NodeAddress::node);
  if (place != nodes.end() && !own.address.empty() && !has_address(nodes, own.node, own.address)) {
    place->address = own.address;
  }
}

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
  const bool news = known != welcome.nodes.end() && known->address != address;
  const bool taken = welcome.view_epoch != 0 && has_address(welcome.nodes, node, address);
  if (!news || taken) {
    return false;
  }
  known->address = address;
  return true;
}

bool set_members(protocol::Welcome& welcome,
                 const ClusterMembers& members,
                 std::string_view own_address) {
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
  keep_own_address({welcome.node, std::string(own_address)}, nodes);
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
