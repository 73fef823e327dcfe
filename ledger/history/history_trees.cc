#include "ledger/history/history_trees.h"

#include <algorithm>

namespace gcoord::ledger {

void HistoryTrees::sort(const HistoryEntries& batch) {
  order_.clear();
  for (std::uint32_t k = 0; k < batch.entries.size(); ++k) {
    order_.push_back(std::uint64_t{batch.entries[k].shard} << 32 | k);
  }
  std::sort(order_.begin(), order_.end());
  run_shards_.clear();
  run_firsts_.clear();
  leaves_.clear();
  for (const std::uint64_t place : order_) {
    const HistoryEntry& entry = batch.entries[static_cast<std::uint32_t>(place)];
    if (run_shards_.empty() || run_shards_.back() != entry.shard) {
      run_shards_.push_back(entry.shard);
      run_firsts_.push_back(static_cast<std::uint32_t>(leaves_.size()));
    }
    leaves_.push_back({.offset = entry.offset, .length = entry.length});
  }
  run_firsts_.push_back(static_cast<std::uint32_t>(leaves_.size()));
}

HistoryTrees::Run HistoryTrees::run(std::size_t number) const {
  const std::uint32_t first = run_firsts_[number];
  return {ShardId{run_shards_[number]},
          std::span{order_}.subspan(first, run_firsts_[number + 1] - first)};
}

Status HistoryTrees::append(const HistoryEntries& batch, HistoryPending& pending) {
  const std::lock_guard lock(mutex_);
  GCOORD_TRY_STATUS(trees_->take({run_shards_, run_firsts_, leaves_, batch.payload}));
  GCOORD_TRY_STATUS(trees_->append());
  GCOORD_TRY(const std::vector<KeptNode> kept, trees_->kept());
  for (const KeptNode& node : kept) {
    pending.add_node(ShardId{node.shard}, {node.level, node.index, hash_of_words(node.hash)});
  }
  return {};
}

Status HistoryTrees::restore(std::span<const std::uint32_t> shards,
                             std::span<const MerkleFrontier> frontiers) {
  const std::lock_guard lock(mutex_);
  return trees_->restore(shards, frontiers);
}

Result<std::vector<MerkleFrontier>> HistoryTrees::frontiers(
    std::span<const std::uint32_t> shards) const {
  const std::lock_guard lock(mutex_);
  return trees_->frontiers(shards);
}

}  // namespace gcoord::ledger
