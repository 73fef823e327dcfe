#include "client/nodes/evidence.h"

#include "client/net/failure.h"
#include "client/nodes/node_login.h"
#include "client/nodes/node_set.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <cstdint>

namespace gcoord::client {

std::string evidence_of(const NodeEntries& entries) {
  std::string text;
  for (const auto& entry : entries) {
    const bool works = entry->phase == NodeEntry::Phase::Ready && entry->breaker.closed();
    if (!works && entry->is_used()) {
      text += text.empty() ? "" : "; ";
      text += entry->address + ": " + entry->why_not_ready();
    }
  }
  return text;
}

std::vector<NodeView> views_of(const NodeEntries& entries,
                               std::span<const protocol::NodeAddress> cluster) {
  std::vector<NodeView> views;
  const auto number_of = [](const NodeEntry& entry) {
    const bool checks = entry.failure.code == protocol::ErrorCode::None && awaits_login(entry);
    return static_cast<std::uint32_t>(checks ? protocol::ErrorCode::AuthenticationBusy
                                             : entry.failure.code);
  };
  for (const auto& entry : entries) {
    if (entry->is_used()) {
      const bool ready = entry->phase == NodeEntry::Phase::Ready;
      const bool works = ready && entry->breaker.closed();
      views.push_back({.node_id = entry->node.value,
                       .address = entry->address,
                       .connected = ready,
                       .breaker = entry->breaker.state(),
                       .last_error = works ? std::string{} : entry->failure.evidence,
                       .last_error_number = works ? 0 : number_of(*entry)});
    }
  }
  const auto has_entry = [&entries](NodeId node) {
    return node != NodeId{} && std::ranges::any_of(entries, [node](const auto& entry) {
             return entry->node == node && entry->is_used();
           });
  };
  for (const protocol::NodeAddress& node : cluster) {
    if (!has_entry(node.node)) {
      views.push_back({.node_id = node.node.value, .last_error = "its address is not known yet"});
    }
  }
  std::ranges::sort(views, {}, &NodeView::node_id);
  return views;
}

Status majority(const NodeSet& nodes) {
  if (nodes.ready_count() == 0) {
    return client::failure(protocol::ErrorCode::Unreachable, nodes.evidence());
  }
  return nodes.has_majority() ? Status{}
                              : client::failure(protocol::ErrorCode::NoLeader, reachable(nodes));
}

Status unreachable(const NodeSet& nodes) {
  std::uint32_t number = 0;
  for (const NodeView& node : nodes.views()) {
    if (!node.last_error.empty() && node.last_error_number == 0) {
      return failure(protocol::ErrorCode::Unreachable, nodes.evidence());
    }
    number = std::max(number, node.last_error_number);
  }
  return failure(
      number == 0 ? protocol::ErrorCode::Unreachable : static_cast<protocol::ErrorCode>(number),
      nodes.evidence());
}

std::string reachable(const NodeSet& nodes) {
  return std::to_string(nodes.ready_count()) + " of " +
         std::to_string(nodes.cluster()->nodes.size()) + " nodes can be reached";
}

}  // namespace gcoord::client
