// Suspicion of this node's own histories, up to the quarantine of the shards that differ from the
// majority's.
//
// A shard whose tree contradicts an ordered head is suspected: its tree is not used any more, and
// the difference is located with the hashes of other nodes (history_hunt.h). Shards that another
// node's hashes contradict are quarantined together, and the publication ends. A shard whose
// history is unreadable, or whose difference nobody confirms, is doubted: an alarm is raised once,
// and this node signs nothing until it starts with a history that is right. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/heads/history_hunt.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/shard_head.h"
#include "ledger/publication/publication_base.h"

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace gcoord::server {

class HistoryQuarantine {
 public:
  // The base outlives it.
  explicit HistoryQuarantine(PublicationBase& base);

  // This node's root of head.shard at head.size is not head.root, which a majority has.
  void suspect(const ledger::ShardHead& head) { hunt_.begin(head); }

  // The other nodes, from now on.
  void set_peers(const std::vector<NodeId>& peers) { hunt_.set_peers(peers); }

  // The history of the shard here is unreadable or differs, and stays as it is.
  void doubt(HistoryAlarm alarm);

  bool suspects(ShardId shard) const { return hunt_.holds(shard); }

  // Whether a suspected shard is still being looked into.
  bool searching() const { return hunt_.busy(); }

  bool doubts_any() const { return !doubted_.empty(); }

  // Whether nothing speaks against this node's histories.
  bool clean() const { return hunt_.empty() && doubted_.empty(); }

  // Shards were handed over to be repaired: the publication has ended.
  bool done() const { return quarantined_; }

  // This node's tree of a shard that it has and does not suspect; else nullptr.
  std::shared_ptr<const ledger::TreeReader> tree(ShardId shard) const;
  // PublicationPort::heads_at; size 0 of those without such a tree, too.
  Result<std::vector<ledger::ShardHead>> heads_at(std::span<const ledger::ShardHead> named) const;

  // all_compared: the ordered log shows no more differences. Repairs wait for that.
  void advance(bool all_compared);

  // Messages. False: dropped.
  bool on(NodeId from, const HashQuery& message);
  bool on(const HashMessage& message);
  bool on(NodeId from, const AlarmMessage& message);

 private:
  PublicationBase& base_;
  HistoryHunt hunt_;
  std::set<ShardId> doubted_;
  bool quarantined_ = false;
  std::uint64_t hunt_ms_ = 0;  // When the last hunt ended that confirmed nothing.
};

}  // namespace gcoord::server
