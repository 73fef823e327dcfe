#include "server/survivor/resident_log.h"

#include "netcore/memory/registry.h"
#include "protocol/error_codes.h"
#include "server/replicas/options.h"
#include "server/resident/engine/shape.h"
#include "server/resident/stored/turn_mark.h"

#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

ResidentLog::ResidentLog(std::unique_ptr<ResidentNode> node, StateMachine& inner)
    : node_(std::move(node)), requests_(*node_), rows_(*node_, inner, requests_), stored_(rows_) {}

Result<std::unique_ptr<ResidentLog>> ResidentLog::open(const ledger::CheckpointStore& store,
                                                       const ledger::NodeIdentity& identity,
                                                       const Environment& environment) {
  GCOORD_TRY(const bool resident, is_of_resident_turn(store));
  if (!resident) {
    return std::unique_ptr<ResidentLog>{};
  }
  const consensus::Configuration& founders = environment.founders;
  std::vector<NodeId> nodes(std::begin(founders.node), std::end(founders.node));
  std::erase(nodes, NodeId{});
  if (!has_resident_turn(nodes.size())) {
    return protocol::make_error(protocol::ErrorCode::ForceUnfit,
                                "it is of --turn resident with " + std::to_string(nodes.size()) +
                                    " founders, and there is no such turn");
  }
  ReplicaOptions shape;
  shape.shard_count = identity.shard_count;
  shape.peers.resize(nodes.size() - 1);
  ResidentNodeOptions options;
  options.self = identity.node;
  options.names = ResidentNames(std::span<const NodeId>(nodes));
  options.shape = resident_shape(shape);
  GCOORD_TRY(auto node, ResidentNode::make(options, netcore::make_host_memory()));
  return std::unique_ptr<ResidentLog>(new ResidentLog(std::move(node), environment.inner));
}

}  // namespace gcoord::server
