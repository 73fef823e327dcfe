// What history looks up: entries and nodes of a tile, from memory and from the store.
#include "ledger/base/error_details.h"
#include "ledger/history/history.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

// What the store says of a damaged block of its own gets the place that was looked for.
Status located(const Status& status, ShardId shard, std::uint64_t index) {
  return status.code() == StatusCode::DataLoss ? history_rot(shard, index, status.message())
                                               : status;
}

// Takes the things of a tile out of its fragments; the later ones count.
class TileTaker {
 public:
  TileTaker(ShardId shard, std::uint32_t tile_level, std::uint64_t tile)
      : begin_{shard, tile_level, tile * kTileThings}, things_(kTileThings) {}

  Status take(const HistoryStore& store) {
    Status failure;
    const auto visit = [&](std::string_view key, std::span<const std::byte> value) {
      failure = take_fragment(*tile_place(key), value);
      return failure.ok();
    };
    const std::string end =
        tile_key(begin_.shard, begin_.tile_level, begin_.index + (kTileThings - 1)) + '\0';
    const Status scanned =
        store.scan(tile_key(begin_.shard, begin_.tile_level, begin_.index), end, visit);
    GCOORD_TRY_STATUS(located(scanned, begin_.shard, leaf_of(begin_.index)));
    return failure;
  }

  TileEntries& things() { return things_; }

 private:
  // The first leaf of what has this index at the tile's level.
  std::uint64_t leaf_of(std::uint64_t index) const {
    return index << (kTileLevels * begin_.tile_level);
  }

  Status take_fragment(const TileAddress& place, std::span<const std::byte> value) {
    FragmentReader fragment(place, value);
    while (!fragment.at_end()) {
      const std::uint64_t index = fragment.index();
      const auto thing = fragment.next();
      if (!thing || index - begin_.index >= kTileThings) {
        return history_rot(begin_.shard, leaf_of(index), "its checksum is wrong");
      }
      things_[index - begin_.index].emplace(thing->begin(), thing->end());
    }
    return {};
  }

  TileAddress begin_;
  TileEntries things_;
};

}  // namespace

Status history_rot(ShardId shard, std::uint64_t index, const std::string& what) {
  return {StatusCode::DataLoss,
          "the history of shard " + std::to_string(shard.value) + " is damaged at index " +
              std::to_string(index) + ": " + what + kRotAdvice,
          kHistoryRot};
}

void History::Memory::look_up(ShardId shard, std::uint64_t first, TileEntries& into) const {
  growing->look_up(shard, first, into);
  if (leaving != nullptr) {
    leaving->pending().look_up(shard, first, into);
  }
}

std::optional<MerkleHash> History::Memory::node(ShardId shard,
                                                std::uint32_t level,
                                                std::uint64_t index) const {
  const auto newest = growing->node(shard, level, index);
  return newest || leaving == nullptr ? newest : leaving->pending().node(shard, level, index);
}

// What is not in the store yet is looked up first: what has left memory by then is in the store.
Result<TileEntries> History::tile_entries(ShardId shard, std::uint64_t tile) const {
  const std::uint64_t begin = tile * kTileThings;
  const std::uint64_t end = size(shard);
  TileEntries entries(kTileThings);
  memory().look_up(shard, begin, entries);
  const auto there = static_cast<std::ptrdiff_t>(
      end <= begin ? 0 : std::min<std::uint64_t>(end - begin, kTileThings));
  const bool whole = std::all_of(
      entries.begin(), entries.begin() + there, [](const auto& each) { return each.has_value(); });
  if (!whole) {
    TileTaker taker(shard, 0, tile);
    GCOORD_TRY_STATUS(taker.take(store_));
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (!entries[k]) {
        entries[k] = std::move(taker.things()[k]);
      }
    }
  }
  std::for_each(entries.begin() + there, entries.end(), [](auto& each) { each.reset(); });
  return entries;
}

Result<TileHashes> History::tile_nodes(ShardId shard,
                                       std::uint32_t tile_level,
                                       std::uint64_t tile) const {
  const std::uint64_t begin = tile * kTileThings;
  const std::uint64_t end = size(shard) >> (kTileLevels * tile_level);
  TileHashes hashes(kTileThings);
  const Memory memory = this->memory();
  for (std::size_t k = 0; k < hashes.size() && begin + k < end; ++k) {
    hashes[k] = memory.node(shard, kTileLevels * tile_level, begin + k);
  }
  TileTaker taker(shard, tile_level, tile);
  GCOORD_TRY_STATUS(taker.take(store_));
  for (std::size_t k = 0; k < hashes.size() && begin + k < end; ++k) {
    const auto& stored = taker.things()[k];
    if (!hashes[k] && stored && stored->size() == kMerkleHashBytes) {
      hashes[k].emplace();
      std::copy(stored->begin(), stored->end(), hashes[k]->begin());
    }
  }
  return hashes;
}

Result<std::optional<MerkleHash>> History::begun_peak(ShardId shard,
                                                      std::uint32_t level,
                                                      std::uint64_t index) const {
  if (const auto pending = memory().node(shard, level, index)) {
    return pending;
  }
  const std::string key = peak_key(shard, level, index);
  const auto stored = store_.get(key);
  GCOORD_TRY_STATUS(located(stored.status(), shard, index << level));
  if (!stored.value()) {
    return std::optional<MerkleHash>{};
  }
  const auto hash = decode_peak(key, *stored.value());
  return hash ? Result<std::optional<MerkleHash>>{hash}
              : history_rot(shard, index << level, "the checksum of a peak is wrong");
}

}  // namespace gcoord::ledger
