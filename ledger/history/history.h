// The history of a node's shards: every entry that was decided, and the tree over it.
//
//   append (hash, keep the newest in memory) ... flush (to the store, durable) ... prune
//
// A flush may be written by another thread while entries are appended: what memory has by then
// leaves as a whole, and what comes next grows beside it.
//
// A shard's tree grows with every batch; nodes of every eighth level are kept as they are
// completed, and everything between follows from them and the entries, so the root of any size and
// any proof can be had again (reader). What was flushed is there after a crash; what was not comes
// again from the log of record, and is taken again to the same effect.
//
// Where an entry comes that history has already: in durable mode a decided entry never changes, so
// it is passed over; in memory mode decisions may have been lost with the processes that knew them,
// so the tree is taken back to before the entry (HistoryOptions::decisions_last).
//
// A shard whose state came from another node goes on from that node's frontier: its history begins
// there. Pruning moves a shard's first entry by whole tiles; what is kept proves as before.
//
// Threads: append, begin_at, align, forget, flush, begin_flush, end_flush and prune belong to one
// owner (history_worker.h). All const calls are for any thread. After a failure the owner stops;
// the number is kHistoryGap, kHistoryRot, the store's, or the device's. Host only.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/history/entries.h"
#include "ledger/history/flush.h"
#include "ledger/history/history_trees.h"
#include "ledger/history/pending.h"
#include "ledger/history/store.h"
#include "ledger/merkle/frontier.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/shard_head.h"
#include "ledger/trees/trees.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gcoord::ledger {

// How much comes together before it is written.
struct HistoryBatching {
  // Of what is not in the store: beyond it a flush is due.
  std::size_t pending_bytes_max = std::size_t{48} << 20;
  // Of one write to the store, which is a table of its own there: few and large, and well within
  // its memory.
  std::size_t write_bytes = std::size_t{32} << 20;
};

// In memory mode nothing but checkpoints, each half minute or so, waits for history to be durable,
// and the log of record holds none of it: tables in the store may be fewer and larger. Twice as
// much, which a busy node then has in memory three times over.
inline constexpr HistoryBatching kRareBatching{.pending_bytes_max = std::size_t{96} << 20,
                                               .write_bytes = std::size_t{64} << 20};

struct HistoryOptions {
  std::uint32_t shard_count = 1;
  // A tree has less than 2^40 leaves: a million entries a second in one shard for 12 days, or a
  // thousand for 34 years.
  std::uint32_t levels = 40;
  // False in memory mode; see above.
  bool decisions_last = true;
  HistoryBatching batching;
};

// DataLoss (kHistoryRot) that names shard and index.
Status history_rot(ShardId shard, std::uint64_t index, const std::string& what);

struct HistoryCounts {
  std::uint64_t hashed = 0;    // Entries appended in this life.
  std::uint64_t repeated = 0;  // Entries that it had already.
  std::uint64_t flushes = 0;
  std::uint64_t pruned = 0;  // Entries.
  std::uint64_t bytes = 0;   // Of the entries appended in this life.
};

class History final : public std::enable_shared_from_this<History> {
 public:
  // Reads the heads of all shards. The store outlives it.
  static Result<std::shared_ptr<History>> open(const HistoryOptions& options,
                                               std::unique_ptr<MerkleDevice> device,
                                               HistoryStore& store);
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // --- The owner's.

  // DataLoss (kHistoryGap) for an entry whose predecessor is missing.
  Status append(const std::shared_ptr<const HistoryEntries>& batch);

  // The shard's state is that of a tree which others have: history goes on from there. What it has
  // already in an equal tree is kept; what it has in another one is let go.
  Status begin_at(ShardId shard, const MerkleFrontier& frontier);

  // By shard, how many entries are applied now that recovery has ended. kHistoryGap if one is not
  // in history.
  Status align(std::span<const std::uint64_t> applied);

  // Lets go of everything of a shard: it begins anew.
  Status forget(ShardId shard);

  // Everything that was appended is durable on return. Waits for a flush that was begun.
  Status flush();

  bool flush_due() const { return growing_->size_bytes() >= options_.batching.pending_bytes_max; }

  // Begins a flush of all that was appended, for another thread to write to store(); nothing where
  // there is nothing. end_flush() once it is written, and before the next one.
  Result<std::shared_ptr<HistoryFlush>> begin_flush();
  void end_flush();

  // The flush that was begun and not ended.
  const std::shared_ptr<const HistoryFlush>& leaving() const { return leaving_; }

  HistoryStore& store() { return store_; }

  // Entries below `first`, which is taken down to a tile's begin, need not be kept any more.
  // Nothing happens for what is below already. Takes effect in the store with the next flush.
  void prune(ShardId shard, std::uint64_t first);

  // Has the store let go of what was pruned and flushed, as soon as it can; comes back at once.
  void reclaim() { store_.reclaim(); }

  // --- Any thread's.

  std::uint32_t shard_count() const { return options_.shard_count; }

  // Acquire: pairs with the release of who appended, so that what is below can be read.
  std::uint64_t size(ShardId shard) const {
    return rows_[shard.value].size.load(std::memory_order_acquire);
  }

  std::uint64_t first(ShardId shard) const {
    return rows_[shard.value].first.load(std::memory_order_acquire);
  }

  // Bytes of the entries that are kept, as near as pruning by whole tiles has it.
  std::uint64_t entry_bytes(ShardId shard) const {
    return rows_[shard.value].bytes.load(std::memory_order_relaxed);
  }

  // The same of all shards together.
  std::uint64_t entry_bytes() const { return entry_bytes_.load(std::memory_order_relaxed); }

  std::shared_ptr<const TreeReader> reader(ShardId shard) const;

  // As of what is appended; waits for a batch that is being hashed.
  Result<std::vector<MerkleFrontier>> frontiers(std::span<const std::uint32_t> shards) const;
  Result<std::vector<ShardHead>> heads(std::span<const ShardId> shards) const;

  // The heads of these shards at the sizes that they are named with, where memory has them: their
  // trees have not grown much beyond since. Size 0: not in memory, so reader() has to say. The
  // root that a name carries is not looked at. After decisions were lost (memory mode) a root may
  // be of no tree at all, so it proves equality, and no difference.
  Result<std::vector<ShardHead>> heads_at(std::span<const ShardHead> named) const;

  HistoryCounts counts() const;

  std::uint64_t disk_bytes() const { return store_.disk_bytes(); }

  std::size_t pending_bytes() const;

  // --- Of the reader (history_reader.h).

  // The entries of a tile that are below size(); those that are gone are absent.
  Result<TileEntries> tile_entries(ShardId shard, std::uint64_t tile) const;
  // The hashes of a tile of a level above the entries', by place.
  Result<TileHashes> tile_nodes(ShardId shard, std::uint32_t tile_level, std::uint64_t tile) const;
  // A peak that the shard's history began with.
  Result<std::optional<MerkleHash>> begun_peak(ShardId shard,
                                               std::uint32_t level,
                                               std::uint64_t index) const;

 private:
  struct Row {
    std::atomic<std::uint64_t> size{0};
    std::atomic<std::uint64_t> first{0};
    std::atomic<std::uint64_t> bytes{0};
  };

  // What is not known to be in the store, newest first: a thing moves from `growing` to `leaving`
  // to the store, so who looks in this order finds it.
  struct Memory {
    std::shared_ptr<const HistoryPending> growing;
    std::shared_ptr<const HistoryFlush> leaving;

    void look_up(ShardId shard, std::uint64_t first, TileEntries& into) const;
    std::optional<MerkleHash> node(ShardId shard, std::uint32_t level, std::uint64_t index) const;
    void hash_leaves(ShardId shard,
                     std::uint64_t first,
                     std::span<std::optional<MerkleHash>> into) const;
  };

  static std::optional<MerkleHash> root_before(const MerkleFrontier& now,
                                               const ShardHead& named,
                                               const Memory& memory);

  History(const HistoryOptions& options, HistoryStore& store)
      : options_(options),
        store_(store),
        rows_(options.shard_count),
        growing_(std::make_shared<HistoryPending>(options.shard_count)) {}

  Status load();
  std::shared_ptr<const HistoryEntries> without_repeated(
      const std::shared_ptr<const HistoryEntries>& batch);
  Status check_order(const HistoryEntries& batch);
  bool continues(const HistoryEntries& sorted) const;
  void count_appended(const HistoryEntries& sorted);
  Status rewind(ShardId shard, std::uint64_t size);
  Status reset(ShardId shard, const MerkleFrontier& frontier);
  void add_bytes(Row& row, std::uint64_t bytes);
  void take_bytes(Row& row, std::uint64_t bytes);
  void tell_pending();
  Memory memory() const;
  std::vector<std::uint32_t> changed_shards() const;

  HistoryOptions options_;
  HistoryStore& store_;
  std::vector<Row> rows_;
  mutable std::mutex memory_mutex_;  // Guards the next two from the owner's changes.
  std::shared_ptr<HistoryPending> growing_;
  std::shared_ptr<const HistoryFlush> leaving_;
  std::unique_ptr<HistoryTrees> trees_;
  // Of the owner alone:
  std::unordered_map<std::uint32_t, std::uint64_t> cuts_;  // By shard: what lies beyond goes.
  std::unordered_set<std::uint32_t> touched_;  // Heads to be written, beside growing_'s.
  std::unordered_map<std::uint32_t, std::uint64_t> ahead_;  // Kept warm: of one batch, by shard.
  std::uint64_t pruned_bytes_ = 0;  // Since the store was last asked to reclaim.
  std::atomic<std::uint64_t> hashed_{0};
  std::atomic<std::uint64_t> repeated_{0};
  std::atomic<std::uint64_t> flushes_{0};
  std::atomic<std::uint64_t> pruned_{0};
  std::atomic<std::uint64_t> hashed_bytes_{0};
  std::atomic<std::uint64_t> entry_bytes_{0};  // The rows' bytes together.
  std::atomic<std::size_t> pending_bytes_{0};
};

}  // namespace gcoord::ledger
