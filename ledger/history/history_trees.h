// Trees of all shards of a history, and the batches that grow them.
//
// A batch is sorted into runs of one shard each and hashed as a whole; nodes of every eighth level
// that it completes are kept. sort(), run() and append() by the history's owner, which has the
// working memory; the rest for any thread, and waits for a batch that is being hashed. Host only.
#pragma once

#include "common/status.h"
#include "ledger/history/entries.h"
#include "ledger/history/pending.h"
#include "ledger/merkle/frontier.h"
#include "ledger/trees/trees.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::ledger {

class HistoryTrees {
 public:
  explicit HistoryTrees(std::unique_ptr<MerkleTrees> trees) : trees_(std::move(trees)) {}

  // The entries of one shard in a sorted batch, in their order in it.
  struct Run {
    ShardId shard;
    std::span<const std::uint64_t> places;  // The low half of each is a place in the batch.

    const HistoryEntry& entry(const HistoryEntries& batch, std::size_t k) const {
      return batch.entries[static_cast<std::uint32_t>(places[k])];
    }
  };

  // Sorts the batch into runs, which run() shows and append() takes.
  void sort(const HistoryEntries& batch);

  std::size_t run_count() const { return run_shards_.size(); }

  // Until the next sort.
  Run run(std::size_t number) const;

  // Hashes the entries of the batch that was sorted last, which continue their trees; kept nodes go
  // to `pending`.
  Status append(const HistoryEntries& batch, HistoryPending& pending);

  // The shards' trees have these frontiers from now on.
  Status restore(std::span<const std::uint32_t> shards, std::span<const MerkleFrontier> frontiers);

  Result<std::vector<MerkleFrontier>> frontiers(std::span<const std::uint32_t> shards) const;

 private:
  mutable std::mutex mutex_;  // Guards trees_.
  std::unique_ptr<MerkleTrees> trees_;
  // Working memory of append().
  std::vector<std::uint64_t> order_;
  std::vector<std::uint32_t> run_shards_;
  std::vector<std::uint32_t> run_firsts_;
  std::vector<LeafExtent> leaves_;
};

}  // namespace gcoord::ledger
