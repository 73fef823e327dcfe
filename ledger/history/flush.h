// One flush of history on its way to the store.
//
// It holds everything of the shards that changed, as it was when the flush began: what memory had,
// heads, horizons, and what is to be taken out first. So it is written by another thread than the
// one that hashes, which goes on meanwhile. Who looks something up finds it here until it is in the
// store (history.h).
// Threads: write() by one, once; all else by any.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/history/batch.h"
#include "ledger/history/pending.h"
#include "ledger/history/store.h"
#include "ledger/merkle/frontier.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::ledger {

struct FlushedShard {
  ShardId shard{};
  MerkleFrontier frontier;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  bool pruned = false;  // The horizon may have risen since the flush before.
  // What the store has from here on goes, before anything of the shard is written.
  std::optional<std::uint64_t> cut;
};

class HistoryFlush {
 public:
  // Shards by rising number, each once. A write to the store goes beyond `write_bytes` by a shard.
  HistoryFlush(std::shared_ptr<const HistoryPending> pending,
               std::vector<FlushedShard> shards,
               std::size_t write_bytes)
      : pending_(std::move(pending)), shards_(std::move(shards)), write_bytes_(write_bytes) {}

  const HistoryPending& pending() const { return *pending_; }

  const std::vector<FlushedShard>& shards() const { return shards_; }

  // Durable on return, or why not. All of a shard is in one write, so that its head never says what
  // is not there.
  // `batch` is empty before and after, and lends its memory.
  Status write(HistoryStore& store, HistoryBatch& batch);

  Status write(HistoryStore& store) {
    HistoryBatch batch;
    return write(store, batch);
  }

  bool written() const;

  // Until write() has come back: what it said.
  Status wait() const;

 private:
  using Entries = std::span<const HistoryPending::Entry>;

  Status write_shards(HistoryStore& store, HistoryBatch& batch) const;
  // Those of the shard, which `rest` begins with, taken off it.
  static void write_entries(ShardId shard, Entries& rest, HistoryBatch& batch);
  void write_nodes(ShardId shard, HistoryBatch& batch) const;

  std::shared_ptr<const HistoryPending> pending_;
  std::vector<FlushedShard> shards_;
  std::size_t write_bytes_;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  std::optional<Status> outcome_;
};

}  // namespace gcoord::ledger
