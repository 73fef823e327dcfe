// Where the history of a node's shards lies: keys and values in order, in RocksDB, or in a
// simulation's memory (memory_history_store.h).
//
// A write is atomic, and durable when it returns ok. Tiles that lie wholly below a shard's horizon
// are let go at the store's leisure, and may be read for a while or not. What the keys and values
// are is history_batch.h's.
//
// Failures: DataLoss (kHistoryRot), ResourceExhausted (kDiskFull), FailedPrecondition
// (kHistoryFormat), else Unavailable (kHistoryFailed). One thread writes while others read and
// raise horizons.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/history_batch.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

class HistoryStore {
 public:
  // Keys and values live for the call. False: enough was seen.
  using Visitor = std::function<bool(std::string_view key, std::span<const std::byte> value)>;

  // Opens the store in the directory `path`, in RocksDB, creating it when there is none.
  static Result<std::unique_ptr<HistoryStore>> open(const std::string& path,
                                                    std::uint32_t shard_count);
  HistoryStore() = default;
  virtual ~HistoryStore() = default;
  HistoryStore(const HistoryStore&) = delete;
  HistoryStore& operator=(const HistoryStore&) = delete;

  virtual Status write(const HistoryBatch& batch) = 0;

  // Everything with first <= key < end, in order.
  virtual Status scan(const std::string& first,
                      const std::string& end,
                      const Visitor& visitor) const = 0;

  // A copy of one value; nothing when there is none.
  virtual Result<std::optional<std::vector<std::byte>>> get(const std::string& key) const = 0;

  // From now on tiles of the shard that end at or below the entry `first` need not be kept. The
  // caller has made that number durable.
  virtual void set_horizon(ShardId shard, std::uint64_t first) = 0;

  // Lets go of what lies below horizons where that has become much; comes back at once.
  virtual void reclaim() = 0;

  // Of all files.
  virtual std::uint64_t disk_bytes() const = 0;
};

// Whether a tile lies wholly below the horizon: all leaves that it stands for.
inline bool is_below(const TilePlace& place, std::uint64_t horizon) {
  const std::uint32_t shift = kTileLevels * (place.tile_level + 1);
  return shift < 64 && (place.index >> kTileLevels) + 1 <= horizon >> shift;
}

}  // namespace gcoord::ledger
