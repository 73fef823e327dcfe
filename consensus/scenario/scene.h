// Scene of a scenario: the cluster that its commands act on, and the lines that they answered.
//
// The words of a command name nodes, shards, replicas and links of the cluster; what is not there
// fails with a sentence. Host only; one thread.
#pragma once

#include "common/status.h"
#include "consensus/scenario/cluster.h"
#include "consensus/scenario/command_line.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::consensus::scenario {

class Scene {
 public:
  // The two ends of a link, first two words of many commands.
  struct Ends {
    NodeId from;
    NodeId to;
  };

  explicit Scene(StepperFactory make_stepper) : make_stepper_(std::move(make_stepper)) {}

  // Makes the cluster, in the place of the one before, if any.
  Status build(const ClusterOptions& options);

  const StepperFactory& make_stepper() const { return make_stepper_; }

  bool built() const { return cluster_ != nullptr; }

  // Call only when it is built.
  Cluster& cluster() { return *cluster_; }

  void say(std::string text) { output_.push_back(std::move(text)); }

  // The lines since the last call: trace, answers, violations.
  std::vector<std::string> take_output();

  Result<NodeId> node_of(const CommandLine& line, std::size_t place) const;

  // All nodes from `place` on; every node of the cluster if the line names none.
  Result<std::vector<NodeId>> nodes_of(const CommandLine& line, std::size_t place) const;

  Result<Ends> ends_of(const CommandLine& line) const;
  Result<ShardId> shard_of(const CommandLine& line) const;
  Result<Replica*> replica_of(const CommandLine& line, std::size_t place) const;

 private:
  StepperFactory make_stepper_;
  std::unique_ptr<Cluster> cluster_;
  std::vector<std::string> output_;
};

}  // namespace gcoord::consensus::scenario
