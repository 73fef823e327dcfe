// The way of every shard from one configuration to the next: each that is decided is the same on
// all nodes, follows from the one before, and has no quorum that misses one of the one before. And
// no leader proposes one with fewer voters than it has, or than its view of the cluster wants.
//
// The watch sees every step of every node, and so every configuration when it is applied. What
// follows from what is worked out here anew, by trying all sets of nodes. One thread.
#pragma once

#include "chaos/promises/turn_watch.h"
#include "common/ids.h"
#include "consensus/step/configuration.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gcoord::chaos {

class ConfigurationWatch {
 public:
  // All shards begin with `founders` voters, nodes 1 and on.
  ConfigurationWatch(std::uint32_t shard_count, std::uint32_t founders);

  // `wanted`: voters that a shard is to have by the view of the step's node; 0: it has none. Empty,
  // or what the step breaks.
  std::string on_step(const SeenStep& step, std::uint32_t wanted);

  // Whether the node votes in the shard by the newest configuration that was decided, or is on its
  // way out. A leader with an earlier view may let one learn that has left, which takes no log then
  // and so never votes.
  bool has_voter(ShardId shard, NodeId node) const;

  // Configurations that were decided, over all shards, without the first ones.
  std::uint64_t changes() const { return changes_; }

 private:
  std::string on_applied(ShardId shard, LogIndex index, const consensus::Configuration& applied);
  static std::string on_proposed(const SeenStep& step, std::uint32_t wanted);

  std::vector<std::map<LogIndex, consensus::Configuration>> decided_;  // By shard.
  std::uint64_t changes_ = 0;
};

// Every quorum of the one has a node in common with every quorum of the other.
bool every_two_quorums_meet(const consensus::Configuration& one,
                            const consensus::Configuration& other);

}  // namespace gcoord::chaos
