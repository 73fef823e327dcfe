// Loopback ports for the nodes of a local cluster.
//
// They lie below the range from which the kernel takes ports for outgoing connections, so that a
// node that was killed finds its port free when it comes back. A port is only probed, not held:
// another program may still take it before the node does. Linux; thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::chaos {

// Distinct ports of 127.0.0.1 on which nothing listens now. ResourceExhausted when there are too
// few.
Result<std::vector<std::uint16_t>> free_ports(std::size_t count);

}  // namespace gcoord::chaos
