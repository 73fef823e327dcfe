// Elections and roles of a turn's shards, as one line of the node's log at level debug.
//
// A node may have 65,536 shards that change in the same turn, so the line has counts, and at most
// kExamplesMax shards by name. While the level is off, note() costs one load and a branch. One
// thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/outbox.h"
#include "consensus/step/shard_table.h"
#include "server/platform/operator_log.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace gcoord::server {

// What a line says of a replica.
struct RoleState {
  consensus::Role role = consensus::Role::Follower;
  Term term;
  NodeId leader;  // 0: none known.
};

// What a turn did to a replica of this node. Cause::None: not known.
struct RoleChange {
  ShardId shard;
  RoleState before;
  RoleState now;
  consensus::Cause cause = consensus::Cause::None;
};

class RoleChanges {
 public:
  static constexpr std::uint32_t kExamplesMax = 3;

  explicit RoleChanges(NodeId self) : self_(self) {}

  void note(const RoleChange& change) {
    if (log_enabled(LogComponent::Consensus, LogLevel::Debug)) {
      add(change);
    }
  }

  // Writes the line of what was noted since the last one, if there was anything.
  void tell() {
    if (counts_.changed != 0) {
      write();
    }
  }

 private:
  struct Counts {
    std::uint32_t changed = 0;
    std::uint32_t begun = 0;  // Elections that this node began: pre-votes count.
    std::uint32_t won = 0;
    std::uint32_t lost = 0;      // It is a follower again.
    std::uint32_t ended = 0;     // Leaderships of this node.
    std::uint32_t followed = 0;  // Another node leads, who did not before.
    std::uint32_t unled = 0;     // No leader is known any more.
  };

  void add(const RoleChange& change);
  void write();

  const NodeId self_;
  Counts counts_;
  std::string examples_;
};

}  // namespace gcoord::server
