// A cluster whose trust changes while clients work: from open to closed, and every secret anew.
//
// Each step goes over all nodes and is followed by so many pairs of every load, so that the steps
// are at work before the next one comes. The order of the steps is that of
// docs/how-to/close_a_living_cluster.md. Blocking. One thread.
#pragma once

#include "bench/trust/living_cluster.h"
#include "common/json/value.h"
#include "common/status.h"

#include <cstdint>

namespace gcoord::bench {

struct ChangeOptions {
  std::uint64_t pairs_of_step = 50;
};

// The cluster was started with the default TrustSettings; at the end it is kClosed with rights on.
// {"steps", "loads", "failed", "longest_pair_ms", "encrypted_links", "refused"}.
Result<Json> close_living_cluster(LivingCluster& cluster, const ChangeOptions& options);

// The cluster was started with kClosed. Certificates of nodes and users, their CA, and the secret
// of the cluster (of which session keys and tokens come) are replaced, the last one twice, and
// after each time a node is restarted, to which sessions must be attached anew.
// {"steps", "loads", "failed", "longest_pair_ms"}.
Result<Json> rotate_everything(LivingCluster& cluster, const ChangeOptions& options);

}  // namespace gcoord::bench
