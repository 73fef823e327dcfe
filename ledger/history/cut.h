// Takes out of a history store what shards have beyond a size, shard after shard.
//
// Shards come in rising order, so that one place in the store goes forward through all of them:
// where a million shards are taken back together, as after a restart in memory mode, that is one
// pass over what is there, and what is not there costs nothing. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/history/batch.h"
#include "ledger/history/store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::ledger {

class HistoryCut {
 public:
  // Sees `store` as it is now; the store outlives this.
  explicit HistoryCut(const HistoryStore& store) : tiles_(store.cursor()), peaks_(store.cursor()) {}

  // Removes what is there of entries from `size` on, and of the nodes over them. `shard` is above
  // that of the call before.
  Status remove_from(ShardId shard, std::uint64_t size, HistoryBatch& batch);

 private:
  void remove_tiles(ShardId shard, std::uint64_t size, HistoryBatch& batch);
  void remove_peaks(ShardId shard, HistoryBatch& batch);

  std::unique_ptr<HistoryCursor> tiles_;
  std::unique_ptr<HistoryCursor> peaks_;
  std::optional<ShardId> last_;
};

}  // namespace gcoord::ledger
