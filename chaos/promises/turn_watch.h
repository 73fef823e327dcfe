// Two promises that every turn of a world must keep: at most one node holds the lease of a shard,
// and no read round is answered with less than was committed when it was opened.
//
// The watch sees each step of each node. So it knows who leads, and looks for leases only in shards
// that were stepped in the turn or have two leaders. consensus/scenario/raft_history.h states the
// promises. One thread.
#pragma once

#include "consensus/scenario/raft_history.h"
#include "consensus/step/inbox.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::chaos {

// A step of one shard of a node: the row after it, what went in and what came out. During the call
// only.
struct SeenStep {
  NodeId node;
  const consensus::ShardRef& row;
  const consensus::Inbox& in;
  const consensus::Outbox& out;
};

class TurnWatch {
 public:
  explicit TurnWatch(std::uint32_t shard_count) : shards_(shard_count) {}

  // Empty, or what the step breaks.
  std::string on_step(const SeenStep& step);

  // What the node knows as committed in the shard if it would answer reads by itself now.
  using LeaseOf = std::function<std::optional<LogIndex>(NodeId, ShardId)>;

  // At the end of a turn of all nodes. Empty, or what is broken.
  std::string end_turn(const LeaseOf& lease_of);

 private:
  struct Shard {
    consensus::scenario::RaftHistory history;  // Fed with commits alone.
    std::uint32_t leaders = 0;                 // Bit k: node k + 1 led after its last step.
    bool stepped = false;                      // In this turn.
  };

  struct OpenRound {
    std::uint64_t sequence = 0;
    LogIndex owed;
  };

  bool contested(const Shard& shard) const { return (shard.leaders & (shard.leaders - 1)) != 0; }

  std::vector<Shard> shards_;
  std::vector<std::uint32_t> due_;                                       // Shards to look at.
  std::map<std::pair<std::uint32_t, std::uint32_t>, OpenRound> rounds_;  // By node and shard.
};

}  // namespace gcoord::chaos
