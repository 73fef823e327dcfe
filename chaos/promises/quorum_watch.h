// Watch of quorums: a shard's leader has the votes of a quorum of its configuration, and what it
// decides is on the disks of one. Nodes outside the configuration, and those that have left
// it, count in neither.
//
// The watch sees every step and every message before it leaves its node, so it knows what each node
// has said, whatever a leader believes. One thread.
#pragma once

#include "chaos/promises/turn_watch.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "consensus/step/message.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

class QuorumWatch {
 public:
  // Nodes have the ids 1 to kNodesMax.
  static constexpr std::uint32_t kNodesMax = 64;

  explicit QuorumWatch(std::uint32_t shard_count) : shards_(shard_count) {}

  // Leaves its node.
  void on_message(const consensus::Message& message);

  // Empty, or what the step breaks.
  std::string on_step(const SeenStep& step);

 private:
  struct Acknowledged {
    Term term;
    LogIndex index;
  };

  // A node's row after its last step.
  struct Row {
    Term term;
    bool led = false;
    consensus::Configuration configuration;
  };

  struct Shard {
    std::map<std::pair<Term, NodeId>, std::uint64_t> votes;  // Bits of nodes, by candidate.
    std::map<NodeId, Acknowledged> acknowledged;
    std::map<NodeId, Row> rows;
    LogIndex committed;  // That any node knew.
  };

  std::string on_elected(const SeenStep& step, const Shard& shard, const Row& before) const;
  std::string on_decided(const SeenStep& step, const Shard& shard, const Row& before) const;

  std::vector<Shard> shards_;
};

}  // namespace gcoord::chaos
