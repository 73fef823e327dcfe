// Limits that several folders share.
//
// All nodes of a cluster agree on them. Constants only.
#pragma once

#include <cstddef>

namespace gcoord {

// The longest message between the services of two nodes.
inline constexpr std::size_t kPeerMessageBytesMax = 32 * 1024;

}  // namespace gcoord
