// Default node for commands in which the user named none. One thread.
#pragma once

#include "gcoord/client.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gcoord::cli {

// One that is connected; 0: none is.
inline std::uint32_t any_node(const client::Client& client) {
  for (const client::NodeView& node : client.cluster().nodes) {
    if (node.connected) {
      return node.node_id;
    }
  }
  return 0;
}

// The same, but no witness, which has no state to show; 0: no other is known to be connected.
inline std::uint32_t connected_with_state(client::Client& client) {
  const auto view = client.view();
  for (const client::NodeView& node : client.cluster().nodes) {
    const bool witness = view.ok() && std::any_of(view.value().members.begin(),
                                                  view.value().members.end(),
                                                  [&node](const client::MemberDescription& each) {
                                                    return each.node_id == node.node_id &&
                                                           each.role == client::MemberRole::Witness;
                                                  });
    if (node.connected && !witness) {
      return node.node_id;
    }
  }
  return 0;
}

// The same, with time for the others where only a witness is connected yet. If it stays alone, it.
inline std::uint32_t any_node_with_state(client::Client& client,
                                         std::chrono::milliseconds timeout) {
  std::uint32_t node = connected_with_state(client);
  if (node == 0) {
    const auto others = client.wait_for_all_nodes(timeout);
    static_cast<void>(others.ok());
    node = connected_with_state(client);
  }
  return node != 0 ? node : any_node(client);
}

}  // namespace gcoord::cli
