// Letting go of old entries because an operator says so, beside what a node's policy does.
//
// An order names one shard or all of them, and what may go: by index, by count, by bytes, by age
// (history_keeping.h); where it names several, the one that lets go of most counts. As under a
// policy it goes by whole tiles, and never beyond what recovery may need (Clues::floor). What is
// kept proves as before against every root of its own size or larger; what is not is answered with
// kLedgerPruned. One thread, the history's owner.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/prune_order.h"
#include "ledger/history/history.h"
#include "ledger/history/keeping.h"

#include <cstdint>

namespace gcoord::ledger {

class HistoryPruning {
 public:
  HistoryPruning(const PruneOrder& order, HistoryKeeper::Clues clues);

  // Works on some shards; whether that was all. Failures are the store's.
  Result<bool> advance(History& history, std::uint64_t now_ms);

  PruneReport report(const History& history) const;

 private:
  Result<std::uint64_t> look(History& history, ShardId shard, std::uint64_t now_ms) const;
  std::uint32_t end(const History& history) const;

  PruneOrder order_;
  HistoryKeeper::Clues clues_;
  HistoryKeeper keeper_;
  std::uint32_t begin_ = 0;
  std::uint32_t next_ = 0;
  PruneReport report_;
};

}  // namespace gcoord::ledger
