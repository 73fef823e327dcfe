// ZooKeeper as a peer of the comparison: three servers that sync every transaction.
#pragma once

#include "bench/vs/peer.h"

#include <memory>

namespace gcoord::bench {

std::unique_ptr<Peer> make_zookeeper_peer();

}  // namespace gcoord::bench
