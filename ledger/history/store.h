// Store of the history of a node's shards: ordered keys and values in RocksDB, or in a simulation's
// memory (memory_history_store.h).
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
#include "ledger/disk/room.h"
#include "ledger/history/batch.h"

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

// A place among the keys of a store, as they were when it was made. One thread.
class HistoryCursor {
 public:
  HistoryCursor() = default;
  virtual ~HistoryCursor() = default;
  HistoryCursor(const HistoryCursor&) = delete;
  HistoryCursor& operator=(const HistoryCursor&) = delete;

  // Goes forward to the first key that is not below `key`. It stays where it is if it is there
  // already, or beyond. Before the first call it is nowhere.
  virtual void go_to(const std::string& key) = 0;
  // To the next one. It is at a key.
  virtual void next() = 0;

  // Whether it is at a key, which lives until it is moved.
  virtual bool valid() const = 0;
  virtual std::string_view key() const = 0;

  // Why it is at no key: nothing is left, or the store failed.
  virtual Status status() const = 0;
};

// How a store keeps its tables.
enum class HistoryTables : std::uint8_t {
  // Merged soon, so that lookups pass few of them. Writes are of HistoryBatching's usual size.
  Few,
  // For a node that reads history seldom and writes much of it, of kRareBatching's size at a time:
  // three times as many tables come together before they are merged, and the first level that they
  // are merged into is four times as large, so that fewer bytes are written again.
  Many,
};

struct HistoryStoreOptions {
  DiskRoom* room =
      nullptr;  // What is written waits for it; it outlives the store. None: for nothing.
  HistoryTables tables = HistoryTables::Few;
};

class HistoryStore {
 public:
  // Keys and values live for the call. False: enough was seen.
  using Visitor = std::function<bool(std::string_view key, std::span<const std::byte> value)>;

  // Opens the store in the directory `path`, in RocksDB, creating it when there is none.
  static Result<std::unique_ptr<HistoryStore>> open(const std::string& path,
                                                    std::uint32_t shard_count,
                                                    const HistoryStoreOptions& options = {});
  HistoryStore() = default;
  virtual ~HistoryStore() = default;
  HistoryStore(const HistoryStore&) = delete;
  HistoryStore& operator=(const HistoryStore&) = delete;

  virtual Status write(const HistoryBatch& batch) = 0;

  // Lets go of memory that is kept warm for the next write. By the thread that writes.
  virtual void release_memory() {}

  // Everything with first <= key < end, in order.
  virtual Status scan(const std::string& first,
                      const std::string& end,
                      const Visitor& visitor) const = 0;

  // The store outlives it.
  virtual std::unique_ptr<HistoryCursor> cursor() const = 0;

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
inline bool is_below(const TileAddress& place, std::uint64_t horizon) {
  const std::uint32_t shift = kTileLevels * (place.tile_level + 1);
  return shift < 64 && (place.index >> kTileLevels) + 1 <= horizon >> shift;
}

}  // namespace gcoord::ledger
