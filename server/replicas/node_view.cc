#include "server/replicas/node_view.h"

namespace gcoord::server {

NodeView make_node_view(const ReplicaOptions& options,
                        const ledger::IdentityFile& identity,
                        Tick now) {
  return {.cluster = options.cluster,
          .node = options.node,
          .incarnation = identity.incarnation(),
          .directory_id = identity.directory_id(),
          .shard_count = options.shard_count,
          .tick = now,
          .established = identity.established(),
          .durability = options.durability,
          .rejoining = identity.rejoining(),
          .ledger_bounded = identity.ledger_bounded()};
}

}  // namespace gcoord::server
