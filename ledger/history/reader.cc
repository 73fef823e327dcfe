#include "ledger/history/reader.h"

#include "ledger/base/error_details.h"

#include <algorithm>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kCountMax = 256;
constexpr std::uint32_t kLevelsMax = 64;

Status pruned(ShardId shard, std::uint64_t first) {
  return {StatusCode::OutOfRange,
          "shard " + std::to_string(shard.value) + " keeps its entries from index " +
              std::to_string(first) + " on, with the hashes to prove them",
          kLedgerPruned};
}

bool is_pruned(const Status& status) {
  return status.detail() == kLedgerPruned;
}

MerkleHash root_of_whole(const TileHashes& leaves) {
  std::vector<MerkleHash> level;
  for (const auto& leaf : leaves) {
    level.push_back(*leaf);
  }
  while (level.size() > 1) {
    for (std::size_t k = 0; k < level.size() / 2; ++k) {
      level[k] = hash_node(level[2 * k], level[2 * k + 1]);
    }
    level.resize(level.size() / 2);
  }
  return level.front();
}

bool is_whole(const TileHashes& hashes) {
  return std::all_of(
      hashes.begin(), hashes.end(), [](const auto& each) { return each.has_value(); });
}

}  // namespace

Status HistoryReader::check(std::uint32_t level, std::uint64_t index, std::size_t count) const {
  const std::uint64_t end = level < kLevelsMax ? size() >> level : 0;
  if (count > kCountMax || index > end || count > end - index) {
    return {StatusCode::InvalidArgument,
            "shard " + std::to_string(shard_.value) + " has " + std::to_string(end) +
                " subtrees of level " + std::to_string(level),
            kLedgerBeyond};
  }
  return {};
}

Result<std::vector<MerkleHash>> HistoryReader::hashes(std::uint32_t level,
                                                      std::uint64_t index,
                                                      std::size_t count) const {
  GCOORD_TRY_STATUS(check(level, index, count));
  auto folded = fold(level, index, count);
  if (folded.ok() || !is_pruned(folded.status())) {
    return folded;
  }
  // Some are not to be computed any more; each by itself may be there.
  std::vector<MerkleHash> hashes;
  for (std::size_t k = 0; k < count; ++k) {
    GCOORD_TRY(const MerkleHash hash, one(level, index + k));
    hashes.push_back(hash);
  }
  return hashes;
}

// From the tiles of the kept level at or below it.
Result<std::vector<MerkleHash>> HistoryReader::fold(std::uint32_t level,
                                                    std::uint64_t index,
                                                    std::size_t count) const {
  const std::uint32_t depth = level % kTileLevels;
  const std::uint64_t begin = index << depth;
  const std::uint64_t end = (index + count) << depth;
  std::vector<MerkleHash> hashes;
  hashes.reserve(end - begin);
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t stop = std::min(end, (at / kTileThings + 1) * kTileThings);
    GCOORD_TRY(const TileHashes whole, tile(level / kTileLevels, stop - 1));
    for (; at < stop; ++at) {
      const auto& hash = whole[at % kTileThings];
      if (!hash) {
        return pruned(shard_, first());
      }
      hashes.push_back(*hash);
    }
  }
  for (std::uint32_t k = 0; k < depth; ++k) {
    for (std::size_t pair = 0; pair < hashes.size() / 2; ++pair) {
      hashes[pair] = hash_node(hashes[2 * pair], hashes[2 * pair + 1]);
    }
    hashes.resize(hashes.size() / 2);
  }
  return hashes;
}

// Of a shard that began with peaks: one of them, or what they and the entries behind them give.
Result<MerkleHash> HistoryReader::one(std::uint32_t level, std::uint64_t index) const {
  auto folded = fold(level, index, 1);
  if (folded.ok()) {
    return folded.value().front();
  }
  if (!is_pruned(folded.status())) {
    return folded.status();
  }
  GCOORD_TRY(const auto peak, history_->begun_peak(shard_, level, index));
  if (peak) {
    return *peak;
  }
  const bool begins_below = (index + 1) << level <= first();
  if (level % kTileLevels == 0 || begins_below) {
    return pruned(shard_, first());
  }
  GCOORD_TRY(const MerkleHash left, one(level - 1, 2 * index));
  GCOORD_TRY(const MerkleHash right, one(level - 1, 2 * index + 1));
  return hash_node(left, right);
}

// The one that has this thing of its level.
Result<TileHashes> HistoryReader::tile(std::uint32_t tile_level, std::uint64_t thing) const {
  return tile_level == 0 ? leaf_tile(thing)
                         : history_->tile_nodes(shard_, tile_level, thing / kTileThings);
}

// A root asks for up to eight subtrees of the last tile, one after the other: that it is read and
// hashed once is most of what a root costs.
Result<TileHashes> HistoryReader::leaf_tile(std::uint64_t leaf) const {
  const std::uint64_t tile = leaf / kTileThings;
  {
    const std::lock_guard lock(mutex_);
    if (last_tile_ == tile && last_[leaf % kTileThings]) {
      return last_;
    }
  }
  GCOORD_TRY(const TileEntries entries, history_->tile_entries(shard_, tile));
  TileHashes leaves(kTileThings);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (entries[k]) {
      leaves[k] = hash_leaf(*entries[k]);
    }
  }
  if (is_whole(leaves)) {
    GCOORD_TRY_STATUS(check_tile(tile, leaves));
  }
  const std::lock_guard lock(mutex_);
  last_tile_ = tile;
  last_ = leaves;
  return leaves;
}

Status HistoryReader::check_tile(std::uint64_t tile, const TileHashes& leaves) const {
  GCOORD_TRY(const TileHashes above, history_->tile_nodes(shard_, 1, tile / kTileThings));
  const auto& node = above[tile % kTileThings];
  if (node && *node != root_of_whole(leaves)) {
    return history_rot(
        shard_, tile * kTileThings, "the 256 entries from here do not hash to the node over them");
  }
  return {};
}

Result<std::vector<std::vector<std::byte>>> HistoryReader::entries(std::uint64_t index,
                                                                   std::size_t count) const {
  GCOORD_TRY_STATUS(check(0, index, count));
  if (index < first()) {
    return pruned(shard_, first());
  }
  std::vector<std::vector<std::byte>> entries;
  for (std::uint64_t at = index; at < index + count;) {
    GCOORD_TRY(TileEntries tile, history_->tile_entries(shard_, at / kTileThings));
    const std::uint64_t stop = std::min(index + count, (at / kTileThings + 1) * kTileThings);
    for (; at < stop; ++at) {
      auto& entry = tile[at % kTileThings];
      if (!entry && at < first()) {
        return pruned(shard_, first());  // Since it was asked for.
      }
      if (!entry) {
        return history_rot(shard_, at, "the entry is missing");
      }
      entries.push_back(std::move(*entry));
    }
  }
  return entries;
}

}  // namespace gcoord::ledger
