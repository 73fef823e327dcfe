// A shard's history as whoever proves or serves it sees it (tree_reader.h).
//
// Hashes of levels that are not kept are computed from those that are, the leaves' from the
// entries; and where a whole tile of entries is at hand, it is held against the node over it. The
// last tile that was read stays at hand, since a proof asks for hashes of one tile again and again.
// Thread-safe; keeps the history alive.
#pragma once

#include "ledger/history/history.h"
#include "ledger/merkle/frontier.h"
#include "ledger/merkle/tree_reader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gcoord::ledger {

class HistoryReader final : public TreeReader {
 public:
  HistoryReader(std::shared_ptr<const History> history, ShardId shard)
      : history_(std::move(history)), shard_(shard) {}

  std::uint64_t size() const override { return history_->size(shard_); }

  std::uint64_t first() const override { return history_->first(shard_); }

  Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                         std::uint64_t index,
                                         std::size_t count) const override;
  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override;

 private:
  Status check(std::uint32_t level, std::uint64_t index, std::size_t count) const;
  Result<std::vector<MerkleHash>> fold(std::uint32_t level,
                                       std::uint64_t index,
                                       std::size_t count) const;
  Result<MerkleHash> one(std::uint32_t level, std::uint64_t index) const;
  Result<TileHashes> tile(std::uint32_t tile_level, std::uint64_t thing) const;
  Result<TileHashes> leaf_tile(std::uint64_t leaf) const;
  Status check_tile(std::uint64_t tile, const TileHashes& leaves) const;

  std::shared_ptr<const History> history_;
  ShardId shard_;
  mutable std::mutex mutex_;  // Guards the last tile of leaves.
  mutable std::uint64_t last_tile_ = ~std::uint64_t{0};
  mutable TileHashes last_;
};

}  // namespace gcoord::ledger
