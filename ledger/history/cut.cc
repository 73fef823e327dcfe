#include "ledger/history/cut.h"

#include "common/assert.h"

#include <optional>

namespace gcoord::ledger {

// The keys of a shard's tiles lie level by level. Of each level that there is, those that begin
// below the size are passed over.
void HistoryCut::remove_tiles(ShardId shard, std::uint64_t size, HistoryBatch& batch) {
  tiles_->go_to(tile_key(shard, 0, size));
  while (tiles_->valid()) {
    const std::optional<TileAddress> place = tile_place(tiles_->key());
    if (!place || place->shard != shard || place->tile_level >= 64 / kTileLevels) {
      return;
    }
    const std::uint64_t first = size >> (kTileLevels * place->tile_level);
    if (place->index < first) {
      tiles_->go_to(tile_key(shard, place->tile_level, first));
    } else {
      batch.remove(std::string(tiles_->key()));
      tiles_->next();
    }
  }
}

void HistoryCut::remove_peaks(ShardId shard, HistoryBatch& batch) {
  const std::string end = peak_key(shard, 64, 0);
  peaks_->go_to(peak_key(shard, 0, 0));
  while (peaks_->valid() && peaks_->key() < end) {
    batch.remove(std::string(peaks_->key()));
    peaks_->next();
  }
}

Status HistoryCut::remove_from(ShardId shard, std::uint64_t size, HistoryBatch& batch) {
  GCOORD_ASSERT(!last_ || *last_ < shard);
  last_ = shard;
  if (size == 0) {
    remove_peaks(shard, batch);
  }
  remove_tiles(shard, size, batch);
  GCOORD_TRY_STATUS(peaks_->status());
  return tiles_->status();
}

}  // namespace gcoord::ledger
