#include "ledger/history/keeping.h"

#include <algorithm>
#include <utility>

namespace gcoord::ledger {
namespace {

// Shards of one look, and tiles of one shard that are read for their age: some milliseconds.
constexpr std::uint32_t kShardsPerLook = 4096;
constexpr std::uint32_t kTilesPerLook = 64;

// When the newest entry of a tile that says it was made; 0: none does.
std::uint64_t newest_ms(const TileEntries& entries,
                        const std::function<std::uint64_t(std::span<const std::byte>)>& entry_ms) {
  std::uint64_t newest = 0;
  for (const auto& entry : entries) {
    newest = std::max(newest, entry ? entry_ms(*entry) : 0);
  }
  return newest;
}

}  // namespace

Status HistoryKeeper::advance(History& history, std::uint64_t now_ms) {
  if (policy_.keeps_all()) {
    return {};
  }
  const std::uint32_t count = std::min(kShardsPerLook, history.shard_count());
  for (std::uint32_t k = 0; k < count; ++k) {
    const ShardId shard{next_};
    next_ = (next_ + 1) % history.shard_count();
    const auto gone = look(history, shard, now_ms);
    // Publication finds and repairs rot; stopping would end every start, too.
    if (!gone.ok() && gone.status().code() != StatusCode::DataLoss) {
      return gone.status();
    }
  }
  return {};
}

Result<std::uint64_t> HistoryKeeper::look(History& history,
                                          ShardId shard,
                                          std::uint64_t now_ms) const {
  const std::uint64_t before = history.first(shard);
  if (history.size(shard) - before < 2 * kTileThings) {
    return std::uint64_t{0};
  }
  GCOORD_TRY(const std::uint64_t first, first_to_keep(history, shard, now_ms));
  history.prune(shard, clues_.floor ? std::min(first, clues_.floor(shard)) : first);
  return history.first(shard) - before;
}

Result<std::uint64_t> HistoryKeeper::first_to_keep(const History& history,
                                                   ShardId shard,
                                                   std::uint64_t now_ms) const {
  const std::uint64_t size = history.size(shard);
  std::uint64_t first = history.first(shard);
  const std::uint64_t bytes = history.entry_bytes(shard);
  if (policy_.bytes != 0 && bytes > policy_.bytes) {
    const std::uint64_t entry_bytes = std::max<std::uint64_t>(bytes / (size - first), 1);
    first += (bytes - policy_.bytes) / entry_bytes;
  }
  if (policy_.entries != 0 && size > policy_.entries) {
    first = std::max(first, size - policy_.entries);
  }
  if (policy_.age_ms != 0 && clues_.entry_ms) {
    GCOORD_TRY(const std::uint64_t young, first_young(history, shard, now_ms));
    first = std::max(first, young);
  }
  return first;
}

Result<std::uint64_t> HistoryKeeper::first_young(const History& history,
                                                 ShardId shard,
                                                 std::uint64_t now_ms) const {
  const std::uint64_t size = history.size(shard);
  const std::uint64_t old_ms = now_ms > policy_.age_ms ? now_ms - policy_.age_ms : 0;
  std::uint64_t tile = history.first(shard) / kTileThings;
  for (std::uint32_t k = 0; k < kTilesPerLook && (tile + 1) * kTileThings < size; ++k) {
    GCOORD_TRY(const TileEntries entries, history.tile_entries(shard, tile));
    if (newest_ms(entries, clues_.entry_ms) >= old_ms) {
      break;
    }
    ++tile;
  }
  return tile * kTileThings;
}

}  // namespace gcoord::ledger
