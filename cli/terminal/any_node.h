// Default node for commands in which the user named none. One thread.
#pragma once

#include "gcoord/client.h"

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

}  // namespace gcoord::cli
