// Retention of a node's history, and the background pruning of older parts.
//
// A policy bounds each shard by count, bytes or age of its entries; what exceeds any bound is
// pruned, oldest first, by whole tiles of 256 entries (history.h). So a shard keeps up to a tile
// more than it must, and one with less than two tiles keeps all. A bound of the node (node_bound.h)
// becomes one of each shard with every round over all of them. Age is what entries say of
// themselves; a tile whose entries say nothing is as old as the one before it.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/keep_policy.h"
#include "ledger/history/history.h"
#include "ledger/history/node_bound.h"

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace gcoord::ledger {

class HistoryKeeper {
 public:
  struct Clues {
    // Unix milliseconds that an entry says of itself; 0: nothing.
    std::function<std::uint64_t(std::span<const std::byte>)> entry_ms;
    // Entries from here on may be needed to recover; empty: none are.
    std::function<std::uint64_t(ShardId)> floor;
  };

  HistoryKeeper(const KeepPolicy& policy, Clues clues)
      : policy_(policy), clues_(std::move(clues)) {}

  // Beside the policy, from the next round on.
  void bound(NodeBound node) { node_ = std::move(node); }

  // Looks at the next shards, a bounded number of them. A failure is the store's.
  Status advance(History& history, std::uint64_t now_ms);

  // Looks at one shard: how many entries it let go of. Of many that are too old it is some, so it
  // is to be called until there are none. Failures are the store's, and DataLoss (kHistoryRot)
  // where the age of damaged entries is asked for.
  Result<std::uint64_t> look(History& history, ShardId shard, std::uint64_t now_ms) const;

 private:
  Result<std::uint64_t> first_to_keep(const History& history,
                                      ShardId shard,
                                      std::uint64_t now_ms) const;
  Result<std::uint64_t> first_young(const History& history,
                                    ShardId shard,
                                    std::uint64_t now_ms) const;

  std::uint64_t last_to_go(const History& history, ShardId shard, std::uint64_t wanted) const;
  void begin_round(const History& history);

  KeepPolicy policy_;
  Clues clues_;
  NodeBound node_;
  std::uint64_t share_bytes_ = 0;  // Of each shard in this round, by the node's bound; 0: no bound.
  std::uint32_t next_ = 0;
};

}  // namespace gcoord::ledger
