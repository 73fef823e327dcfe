#include "ledger/history/keeping.h"

#include <algorithm>

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
  if (policy_.keeps_all() && node_.bytes_max == 0) {
    return {};
  }
  if (next_ == 0) {
    begin_round(history);
  }
  if (policy_.keeps_all() && share_bytes_ == 0) {
    return {};  // All is within the node's bound, and the next call looks again.
  }
  const std::uint32_t count = std::min(kShardsPerLook, history.shard_count());
  for (std::uint32_t k = 0; k < count; ++k) {
    const ShardId shard{next_};
    next_ = (next_ + 1) % history.shard_count();
    const bool within = share_bytes_ == 0 || history.entry_bytes(shard) <= share_bytes_;
    if (policy_.keeps_all() && within) {
      continue;
    }
    const auto gone = look(history, shard, now_ms);
    // Publication finds and repairs rot; stopping would end every start, too.
    if (!gone.ok() && gone.status().code() != StatusCode::DataLoss) {
      return gone.status();
    }
    if (next_ == 0) {
      break;  // The next round begins with the next call.
    }
  }
  return {};
}

void HistoryKeeper::begin_round(const History& history) {
  share_bytes_ =
      node_.bytes_max == 0
          ? 0
          : share_of_each({.total = history.entry_bytes(),
                           .shard_count = history.shard_count(),
                           .of = [&](ShardId shard) { return history.entry_bytes(shard); }},
                          node_.bytes_max);
}

Result<std::uint64_t> HistoryKeeper::look(History& history,
                                          ShardId shard,
                                          std::uint64_t now_ms) const {
  const std::uint64_t before = history.first(shard);
  if (history.size(shard) - before < 2 * kTileThings) {
    return std::uint64_t{0};
  }
  GCOORD_TRY(const std::uint64_t first, first_to_keep(history, shard, now_ms));
  history.prune(shard, last_to_go(history, shard, first));
  return history.first(shard) - before;
}

// Nothing that recovery, a save or a published head may need.
std::uint64_t HistoryKeeper::last_to_go(const History& history,
                                        ShardId shard,
                                        std::uint64_t wanted) const {
  const std::uint64_t floor = clues_.floor ? clues_.floor(shard) : history.size(shard);
  const bool by_node = share_bytes_ != 0 && node_.published;
  return std::min({wanted, floor, by_node ? node_.published(shard) : floor});
}

Result<std::uint64_t> HistoryKeeper::first_to_keep(const History& history,
                                                   ShardId shard,
                                                   std::uint64_t now_ms) const {
  const std::uint64_t size = history.size(shard);
  std::uint64_t first = history.first(shard);
  const std::uint64_t bytes = history.entry_bytes(shard);
  const std::uint64_t bytes_max = policy_.bytes == 0  ? share_bytes_
                                  : share_bytes_ == 0 ? policy_.bytes
                                                      : std::min(policy_.bytes, share_bytes_);
  if (bytes_max != 0 && bytes > bytes_max) {
    const std::uint64_t entry_bytes = std::max<std::uint64_t>(bytes / (size - first), 1);
    first += (bytes - bytes_max) / entry_bytes;
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
