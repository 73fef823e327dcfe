// The replicated log by its former name, for the services that still say it; and the size of a
// message between services.
#pragma once

#include "server/replicated_log.h"

#include <cstddef>

namespace gcoord::server {

using ReplicaPort = ReplicatedLog;

inline constexpr std::size_t kPeerMessageBytesMax = 32 * 1024;

}  // namespace gcoord::server
