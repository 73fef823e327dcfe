// Initial rows of a resident cluster: empty replicas of shards with three voters.
#pragma once

#include "chaos/parity/configurations.h"
#include "common/hd.h"
#include "consensus/step/recover.h"

namespace gcoord::chaos {

GCOORD_HD inline void start_row(consensus::ShardRef shard, NodeId self) {
  consensus::RecoveredShard recovered;
  recovered.configuration = configuration_of(0, recovered.configuration);
  consensus::recover(shard, recovered, self);
}

}  // namespace gcoord::chaos
