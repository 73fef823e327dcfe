// The view of a node that both turns begin with: identity, settings and counts of its replicas.
#pragma once

#include "common/ids.h"
#include "ledger/directory/identity_file.h"
#include "server/interfaces/replica_view.h"
#include "server/replicas/options.h"

namespace gcoord::server {

// The part that follows from the options and the data directory alone.
NodeView make_node_view(const ReplicaOptions& options,
                        const ledger::IdentityFile& identity,
                        Tick now);

// Adds the counts of shards that vote, have forgotten, or have no known leader. `Counts` keeps
// them: the Readmission of each lane for the turn on the host, ResidentLeaders for one on a device.
template <typename Counts>
void add_counts(NodeView& node, const Counts& counts) {
  node.voting_count += counts.voting_count();
  node.forgotten_count += counts.forgotten_count();
  node.unled_count += counts.unled_count();
  node.led_anew += counts.led_anew();
}

}  // namespace gcoord::server
