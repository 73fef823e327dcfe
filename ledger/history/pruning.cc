#include "ledger/history/pruning.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::ledger {
namespace {

// Looks of one call, about as many as a look of the policy takes.
constexpr std::uint32_t kLooksAtOnce = 4096;

}  // namespace

HistoryPruning::HistoryPruning(const PruneOrder& order, HistoryKeeper::Clues clues)
    : order_(order),
      clues_(clues),
      keeper_(order.keep, std::move(clues)),
      begin_(order.shard ? order.shard->value : 0),
      next_(begin_) {}

std::uint32_t HistoryPruning::end(const History& history) const {
  return order_.shard ? order_.shard->value + 1 : history.shard_count();
}

Result<bool> HistoryPruning::advance(History& history, std::uint64_t now_ms) {
  GCOORD_ASSERT(begin_ < history.shard_count());
  for (std::uint32_t looks = 0; looks < kLooksAtOnce && next_ < end(history); ++looks) {
    const auto gone = look(history, ShardId{next_}, now_ms);
    if (!gone.ok() && gone.status().code() != StatusCode::DataLoss) {
      return gone.status();
    }
    report_.damaged += gone.ok() ? 0 : 1;
    report_.entries += gone.ok() ? gone.value() : 0;
    next_ += gone.ok() && gone.value() != 0 ? 0 : 1;  // There may be more that is too old.
  }
  return next_ >= end(history);
}

Result<std::uint64_t> HistoryPruning::look(History& history,
                                           ShardId shard,
                                           std::uint64_t now_ms) const {
  const std::uint64_t before = history.first(shard);
  if (order_.below > before) {
    history.prune(shard, clues_.floor ? std::min(order_.below, clues_.floor(shard)) : order_.below);
  }
  const std::uint64_t by_index = history.first(shard) - before;
  if (order_.keep.keeps_all()) {
    return by_index;
  }
  GCOORD_TRY(const std::uint64_t by_policy, keeper_.look(history, shard, now_ms));
  return by_index + by_policy;
}

PruneReport HistoryPruning::report(const History& history) const {
  PruneReport report = report_;
  for (std::uint32_t shard = begin_; shard < next_; ++shard) {
    report.kept += history.size(ShardId{shard}) - history.first(ShardId{shard});
  }
  report.shards = next_ - begin_;
  return report;
}

}  // namespace gcoord::ledger
