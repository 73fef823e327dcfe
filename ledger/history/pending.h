// The newest of every shard's history: what is hashed and not in the store yet.
//
// Batches stay as they came; the entries of a shard are a chain through them, newest first, so
// adding costs a few stores and no allocation of its own. One thread adds; any thread looks up.
// Bounded by its owner, who lets it go as a whole once it is in the store. What nobody adds to any
// more, as it is on its way there, any thread may read with all of the functions.
#pragma once

#include "common/ids.h"
#include "ledger/history/entries.h"
#include "ledger/merkle/hash.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace gcoord::ledger {

// Entries of a tile, by place in it; absent where nobody had them.
using TileEntries = std::vector<std::optional<std::vector<std::byte>>>;

// The same of the hashes of a tile.
using TileHashes = std::vector<std::optional<MerkleHash>>;

// A node of a shard's tree, at any level.
struct PendingNode {
  std::uint32_t level = 0;
  std::uint64_t index = 0;
  MerkleHash hash{};
};

class HistoryPending {
 public:
  explicit HistoryPending(std::uint32_t shard_count) : newest_(shard_count) {}

  // --- The owner's.

  void add(std::shared_ptr<const HistoryEntries> batch);
  void add_node(ShardId shard, const PendingNode& node);

  // Shards with something in it, each once.
  std::span<const std::uint32_t> shards() const { return shards_; }

  bool has(ShardId shard) const { return newest_[shard.value] != 0; }

  struct Entry {
    std::span<const std::byte> bytes;
    std::uint64_t index = 0;
    std::uint32_t shard = 0;
  };

  // All of them by shard, each shard's by rising index; they live as long as this. Sorted at once:
  // a walk over one shard after another would wait for memory with each entry.
  std::vector<Entry> entries() const;
  std::vector<PendingNode> nodes(ShardId shard) const;

  std::size_t size_bytes() const { return bytes_; }

  // --- Any thread's.

  // Fills the places of [first, first + into.size()) that it has.
  void look_up(ShardId shard, std::uint64_t first, TileEntries& into) const;
  std::optional<MerkleHash> node(ShardId shard, std::uint32_t level, std::uint64_t index) const;

  // Hashes the entries of [first, first + into.size()) that it has, where `into` has none.
  void hash_leaves(ShardId shard,
                   std::uint64_t first,
                   std::span<std::optional<MerkleHash>> into) const;

 private:
  // All that a walk over entries needs, so that it reads nothing else.
  struct Link {
    const std::byte* bytes = nullptr;
    std::uint64_t index = 0;
    std::uint32_t length = 0;
    std::uint32_t shard = 0;
    std::uint32_t older = 0;  // 1 + place of the shard's entry before; 0: none.

    Entry entry() const { return {{bytes, length}, index, shard}; }
  };

  using NodeKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;  // Shard, level, index.

  mutable std::mutex mutex_;  // Guards all below from the owner's changes.
  std::vector<std::shared_ptr<const HistoryEntries>> batches_;
  // Grows by pieces: it becomes megabytes, and moving them to fresh pages again and again is most
  // of the pages that a busy node touches first.
  std::deque<Link> links_;
  std::vector<std::uint32_t> newest_;  // By shard: as Link::older.
  std::vector<std::uint32_t> shards_;
  std::map<NodeKey, MerkleHash> nodes_;
  std::size_t bytes_ = 0;
};

}  // namespace gcoord::ledger
