// Audit of recovery: the promises of a node must survive each restart of its process.
//
// A node tells others of entries once its row says that they are durable, so whatever that says
// when the process ends must be in the log that the next one recovers; and the next one must know
// every vote that left the node (I2, without waiting for somebody to ask for a second one). What
// was decided while all machines lose their power must be in the logs of a majority afterwards.
// Contents are the judges' matter (traces carry hashes). One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/message.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::chaos {

class WorldNode;

class RecoveryAudit {
 public:
  RecoveryAudit(std::uint32_t node_count, std::uint32_t shard_count);

  // A message before it leaves its node.
  void take(const consensus::Message& message);

  // The node runs, and its process is about to end.
  void note(std::uint32_t index, WorldNode& node);

  // A process of the node has begun, on the disk of the one that note() was last told of. Empty, or
  // what is missing.
  std::string compare(std::uint32_t index, WorldNode& node);

  // After each pass of a node. Empty, or the vote that the process of the last compare() does not
  // know after its first pass.
  std::string look_at_votes(std::uint32_t index, WorldNode& node);

  // All machines are about to lose their power: what is decided by now is known from note().
  void note_decided();

  // All nodes run again. Empty, or what a majority does not have.
  std::string compare_decided(const std::vector<WorldNode*>& nodes);

  // Shards of nodes that were compared.
  std::uint64_t compared() const { return compared_; }

 private:
  struct Said {
    LogIndex durable;
    LogIndex commit;
  };

  // The newest vote for another that left the node.
  struct Vote {
    Term term;
    NodeId candidate;
  };

  std::uint32_t shard_count_;
  std::vector<std::vector<Vote>> votes_;  // By node and shard.
  std::vector<bool> began_;               // By node: compare() was the last thing that happened.
  std::vector<std::vector<Said>> said_;   // By node and shard; empty: nothing to compare.
  std::vector<LogIndex> decided_;
  bool decided_noted_ = false;
  std::uint64_t compared_ = 0;
};

}  // namespace gcoord::chaos
