// Search for the entries of this node's histories that differ from the majority's, and for the
// first such index.
//
// A head that the majority vouches for and that this node's own tree contradicts is looked into, by
// asking the other nodes for hashes (ledger/merkle/divergence_search.h), one shard at a time. That
// names the first entry that differs; it is for the operator, so it is bounded in time and number,
// and what is not found in time is named without it. Then all that were found are handed over at
// once, to be repaired together: only those that another node's hashes contradict, as a repair
// erases what is here. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/heads/head_review.h"
#include "ledger/heads/message.h"
#include "ledger/heads/port.h"
#include "ledger/merkle/divergence_search.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace gcoord::server {

class HistoryHunt {
 public:
  static constexpr std::uint64_t kPatienceMs = 1000;  // Of one shard: five round trips.
  static constexpr std::uint64_t kAskAgainMs = 100;
  // Shards that are looked into; a disk that rots everywhere needs no list of where.
  static constexpr std::size_t kLocatedMax = 16;

  HistoryHunt(NodeId self, std::vector<NodeId> peers, TreeOf tree_of);

  // Whom to ask from now on; this node among them is not asked.
  void set_peers(std::vector<NodeId> peers);

  // This node's root of head.shard at head.size is not head.root, which a majority has.
  void begin(const ledger::ShardHead& head);

  // Whether the shard is under suspicion.
  bool holds(ShardId shard) const { return found_.contains(shard); }

  bool empty() const { return found_.empty(); }

  // Whether some shard is still being looked into.
  bool busy() const { return !queue_.empty(); }

  struct Question {
    NodeId to;
    HashQuery query;
  };

  // What to ask now.
  std::optional<Question> advance(std::uint64_t now_ms);

  // False: an answer to nothing that was asked.
  bool on_answer(const HashMessage& message, std::uint64_t now_ms);

  // All of them.
  std::vector<HistoryAlarm> alarms() const;

  // Whether another node has shown hashes that readable ones of this node contradict.
  bool confirmed(ShardId shard) const { return confirmed_.contains(shard); }

  // Looks into what is not confirmed once more. Not while busy().
  void retry();

 private:
  void open(std::uint64_t now_ms);
  void close();

  NodeId self_;
  std::vector<NodeId> peers_;
  TreeOf tree_of_;
  std::map<ShardId, HistoryAlarm> found_;
  std::set<ShardId> confirmed_;  // Of them.
  std::deque<ShardId> queue_;    // The first one is being looked into.
  std::shared_ptr<const ledger::TreeReader> tree_;
  std::optional<ledger::DivergenceSearch> search_;
  std::size_t peer_ = 0;
  std::uint64_t give_up_ms_ = 0;
  std::uint64_t ask_ms_ = 0;
};

}  // namespace gcoord::server
