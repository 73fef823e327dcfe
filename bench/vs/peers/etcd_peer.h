// etcd as a peer of the comparison: three members with their package's defaults.
#pragma once

#include "bench/vs/peer.h"

#include <memory>
#include <string>

namespace gcoord::bench {

// `release` is "3.4" or "3.5"; `program` a path or a name in PATH, empty when there is none. A
// program of another release is refused, so that a figure never stands under a wrong name.
std::unique_ptr<Peer> make_etcd_peer(const std::string& release, const std::string& program);

}  // namespace gcoord::bench
