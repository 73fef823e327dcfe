// Ports for the nodes of `gcoordctl cluster init` on this machine.
#pragma once

#include "chaos/process/free_ports.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::cli {

// A port from which on three are free, and three 100, 200 and 300 above them; 0: there is none.
inline std::uint16_t first_port() {
  // Of two pieces, where the search begins anew at the lowest port, one is long enough.
  const auto found = chaos::free_ports(1000);
  const std::vector<std::uint16_t> ports =
      found.ok() ? found.value() : std::vector<std::uint16_t>{};
  const auto is_free = [&](int port) { return std::ranges::find(ports, port) != ports.end(); };
  for (const std::uint16_t port : ports) {
    bool all = true;
    for (const int above : {0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302}) {
      all = all && is_free(port + above);
    }
    if (all) {
      return port;
    }
  }
  return 0;
}

}  // namespace gcoord::cli
