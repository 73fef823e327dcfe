#include "consensus/scenario/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gcoord::consensus::scenario {
namespace {

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

}  // namespace

Status Scene::build(const ClusterOptions& options) {
  GCOORD_TRY(cluster_, Cluster::create(options));
  return {};
}

std::vector<std::string> Scene::take_output() {
  std::vector<std::string> lines = built() ? cluster_->trace().take() : output_;
  if (built()) {
    std::move(output_.begin(), output_.end(), std::back_inserter(lines));
    for (const std::string& sentence : cluster_->take_violations()) {
      lines.push_back("VIOLATION " + sentence);
    }
  }
  output_.clear();
  return lines;
}

Result<NodeId> Scene::node_of(const CommandLine& line, std::size_t place) const {
  GCOORD_TRY(const std::uint64_t number, line.number(place));
  if (number < 1 || number > cluster_->node_count()) {
    return invalid(fmt::format("there is no node {}", number));
  }
  return NodeId{static_cast<std::uint32_t>(number)};
}

// All nodes from `place` on; every node of the cluster if the line names none.
Result<std::vector<NodeId>> Scene::nodes_of(const CommandLine& line, std::size_t place) const {
  std::vector<NodeId> nodes;
  for (std::size_t k = place; k < line.words.size(); ++k) {
    GCOORD_TRY(const NodeId node, node_of(line, k));
    nodes.push_back(node);
  }
  const std::uint32_t all = nodes.empty() ? cluster_->node_count() : 0;
  for (std::uint32_t node = 1; node <= all; ++node) {
    nodes.emplace_back(node);
  }
  return nodes;
}

Result<ShardId> Scene::shard_of(const CommandLine& line) const {
  GCOORD_TRY(const std::uint64_t shard, line.option("shard", 0));
  if (shard >= cluster_->shard_count()) {
    return invalid(fmt::format("there is no shard {}", shard));
  }
  return ShardId{static_cast<std::uint32_t>(shard)};
}

Result<Replica*> Scene::replica_of(const CommandLine& line, std::size_t place) const {
  GCOORD_TRY(const NodeId node, node_of(line, place));
  GCOORD_TRY(const ShardId shard, shard_of(line));
  Replica* replica = cluster_->node(node).replica(shard);
  if (replica == nullptr) {
    return Status{StatusCode::FailedPrecondition, fmt::format("node {} is stopped", node.value)};
  }
  return replica;
}

Result<Scene::Ends> Scene::ends_of(const CommandLine& line) const {
  GCOORD_TRY(const NodeId from, node_of(line, 0));
  GCOORD_TRY(const NodeId to, node_of(line, 1));
  if (from == to) {
    return invalid("a link has two ends");
  }
  return Ends{from, to};
}

}  // namespace gcoord::consensus::scenario
