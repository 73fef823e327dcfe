// gcoord as a peer of the comparison: three nodes with their defaults.
#pragma once

#include "bench/cluster/bench_options.h"
#include "bench/vs/peer.h"

#include <memory>

namespace gcoord::bench {

// Nothing of gcoord is tried: it runs with the number of shards, the durability and the turn that
// a node has when nobody says otherwise. `options` outlives the peer.
std::unique_ptr<Peer> make_gcoord_peer(const BenchOptions& options);

}  // namespace gcoord::bench
