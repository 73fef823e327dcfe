// Redis as a peer of the comparison: one node, the floor of what a lock costs without replicas.
#pragma once

#include "bench/vs/peer.h"

#include <memory>
#include <string_view>

namespace gcoord::bench {

// `sync` is Redis's appendfsync: "always" or "everysec".
std::unique_ptr<Peer> make_redis_peer(std::string_view sync);

}  // namespace gcoord::bench
