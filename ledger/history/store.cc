#include "ledger/history/store.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/base/error_details.h"
#include "ledger/base/rocksdb_open.h"
#include "ledger/space/roomy_files.h"

#include <rocksdb/compaction_filter.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace gcoord::ledger {
namespace {

constexpr std::uint64_t kFormat = 1;
// Before all others: none of history_batch.h's kinds.
constexpr const char* kFormatKey = "format";
constexpr std::size_t kBlockCacheBytes = std::size_t{16} << 20;
// Twice what one flush of history.h writes at a time, so that a write is one table.
constexpr std::size_t kMemtableBytes = std::size_t{64} << 20;
constexpr std::size_t kRareMemtableBytes = std::size_t{128} << 20;
// Of the first level that tables are merged into: about what comes together before they are.
constexpr std::uint64_t kRareLevelBytes = std::uint64_t{1} << 30;
constexpr std::size_t kBlockBytes = std::size_t{16} << 10;

rocksdb::Slice slice_of(std::string_view text) {
  return {text.data(), text.size()};
}

constexpr RocksStoreNames kNames{.store = "history store",
                                 .contents = "the history",
                                 .rot = kHistoryRot,
                                 .failed = kHistoryFailed};

Status damaged(const std::string& what) {
  return rocks_damaged(kNames, what);
}

Status status_of(const rocksdb::Status& status) {
  return rocks_status(kNames, status);
}

using Horizons = std::vector<std::atomic<std::uint64_t>>;

// Called by RocksDB's threads as they merge tables.
class HorizonFilter final : public rocksdb::CompactionFilter {
 public:
  explicit HorizonFilter(std::uint32_t shard_count) : horizons_(shard_count) {}

  bool Filter(int /*level*/,
              const rocksdb::Slice& key,
              const rocksdb::Slice& /*existing*/,
              std::string* /*changed*/,
              bool* /*is_changed*/) const override {
    const auto place = tile_place({key.data(), key.size()});
    return place && place->shard.value < horizons_.size() &&
           is_below(*place, horizons_[place->shard.value].load(std::memory_order_relaxed));
  }

  const char* Name() const override { return "gcoord.history.horizon"; }

  // Relaxed: what is kept a little longer harms nobody.
  void set(ShardId shard, std::uint64_t first) {
    horizons_[shard.value].store(first, std::memory_order_relaxed);
  }

 private:
  Horizons horizons_;
};

rocksdb::ColumnFamilyOptions column_options(const HorizonFilter& filter, HistoryTables tables) {
  const bool many = tables == HistoryTables::Many;
  rocksdb::ColumnFamilyOptions options =
      rocks_column_options({.cache = rocksdb::NewLRUCache(kBlockCacheBytes),
                            .memtable_bytes = many ? kRareMemtableBytes : kMemtableBytes,
                            .block_bytes = kBlockBytes});
  // Garbage is then a tenth of what lives, not as much again.
  options.level_compaction_dynamic_level_bytes = true;
  // A checkpoint of many shards is a row of small writes, each a table of its own: merging them
  // four by four with all that lies under them would write everything again and again.
  options.level0_file_num_compaction_trigger = many ? 24 : 8;
  options.level0_slowdown_writes_trigger = many ? 48 : 24;
  options.level0_stop_writes_trigger = many ? 80 : 40;
  if (many) {
    options.max_bytes_for_level_base = kRareLevelBytes;
  }
  options.compaction_filter = &filter;
  return options;
}

class RocksHistoryCursor final : public HistoryCursor {
 public:
  explicit RocksHistoryCursor(rocksdb::DB& db) {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;  // A pass over everything would leave nothing else there.
    row_.reset(db.NewIterator(options));
  }

  void go_to(const std::string& key) override {
    if (!begun_ || (row_->Valid() && row_->key().compare(key) < 0)) {
      begun_ = true;
      row_->Seek(key);
    }
  }

  void next() override { row_->Next(); }

  bool valid() const override { return row_->Valid(); }

  std::string_view key() const override { return {row_->key().data(), row_->key().size()}; }

  Status status() const override { return status_of(row_->status()); }

 private:
  std::unique_ptr<rocksdb::Iterator> row_;
  bool begun_ = false;
};

class RocksHistoryStore final : public HistoryStore {
 public:
  RocksHistoryStore(std::uint32_t shard_count, DiskRoom* room)
      : filter_(shard_count), environment_(roomy_environment(room)) {}

  ~RocksHistoryStore() override {
    stopping_ = true;
    if (reclaimer_.joinable()) {
      reclaimer_.join();
    }
  }

  Status open(const std::string& path, HistoryTables tables) {
    GCOORD_TRY(db_,
               RocksDatabase::open(
                   kNames,
                   path,
                   rocks_options(environment_.get()),
                   {{rocksdb::kDefaultColumnFamilyName, column_options(filter_, tables)}}));
    std::string stored;
    const rocksdb::Status found = db_->Get(rocksdb::ReadOptions(), kFormatKey, &stored);
    if (found.IsNotFound()) {
      return put_format();
    }
    GCOORD_TRY_STATUS(status_of(found));
    if (stored.size() != sizeof kFormat) {
      return damaged("its format has the wrong size");
    }
    const auto format = load<std::uint64_t>(std::as_bytes(std::span{stored}).data());
    if (format != kFormat) {
      return Status{StatusCode::FailedPrecondition,
                    "the history store has format " + std::to_string(format) +
                        "; start the release that wrote it",
                    kHistoryFormat};
    }
    return Status{};
  }

  // Kind by kind: a table in memory takes keys that follow one another ten times faster than those
  // that jump between heads and tiles, and a batch has them shard by shard.
  Status write(const HistoryBatch& batch) override {
    if (writes_ == nullptr) {
      writes_ =
          std::make_unique<rocksdb::WriteBatch>(batch.size_bytes() + 64 * batch.change_count());
    }
    writes_->Clear();  // Keeps its memory.
    std::map<char, std::vector<std::size_t>> kinds;
    for (std::size_t k = 0; k < batch.change_count(); ++k) {
      kinds[batch.change(k).key.front()].push_back(k);
    }
    std::vector<std::size_t> order;
    for (const auto& [kind, changes] : kinds) {
      order.insert(order.end(), changes.begin(), changes.end());
    }
    for (const std::size_t k : order) {
      const HistoryBatch::Change change = batch.change(k);
      const rocksdb::Slice value{reinterpret_cast<const char*>(change.value.data()),
                                 change.value.size()};
      GCOORD_TRY_STATUS(status_of(change.value.empty()
                                      ? writes_->Delete(slice_of(change.key))
                                      : writes_->Put(slice_of(change.key), value)));
    }
    return commit(*writes_);
  }

  void release_memory() override { writes_ = nullptr; }

  Status scan(const std::string& first,
              const std::string& end,
              const Visitor& visitor) const override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    const rocksdb::Slice bound(end);
    options.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> row{db_->NewIterator(options)};
    for (row->Seek(first); row->Valid(); row->Next()) {
      const rocksdb::Slice key = row->key();
      if (!visitor({key.data(), key.size()}, bytes_in(row->value()))) {
        return Status{};
      }
    }
    return status_of(row->status());
  }

  std::unique_ptr<HistoryCursor> cursor() const override {
    return std::make_unique<RocksHistoryCursor>(*db_);
  }

  Result<std::optional<std::vector<std::byte>>> get(const std::string& key) const override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    rocksdb::PinnableSlice value;
    const rocksdb::Status found =
        db_->Get(options, db_->DefaultColumnFamily(), slice_of(key), &value);
    if (found.IsNotFound()) {
      return std::optional<std::vector<std::byte>>{};
    }
    GCOORD_TRY_STATUS(status_of(found));
    const auto bytes = bytes_in(value);
    return std::optional<std::vector<std::byte>>{std::in_place, bytes.begin(), bytes.end()};
  }

  void set_horizon(ShardId shard, std::uint64_t first) override { filter_.set(shard, first); }

  // Tables that nothing is merged into keep what lies below horizons until they are rewritten.
  void reclaim() override {
    if (reclaiming_.exchange(true)) {
      return;
    }
    if (reclaimer_.joinable()) {
      reclaimer_.join();
    }
    reclaimer_ = std::thread([this] {
      rocksdb::CompactRangeOptions options;
      options.exclusive_manual_compaction = false;
      options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
      options.canceled = &stopping_;
      // A failure shows in the next write.
      db_->CompactRange(options, nullptr, nullptr).PermitUncheckedError();
      reclaiming_ = false;
    });
  }

  std::uint64_t disk_bytes() const override {
    std::uint64_t bytes = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kTotalSstFilesSize, &bytes);
    return bytes;
  }

 private:
  Status put_format() {
    std::array<char, sizeof kFormat> value{};
    store(std::as_writable_bytes(std::span{value}).data(), kFormat);
    rocksdb::WriteBatch writes;
    GCOORD_TRY_STATUS(status_of(writes.Put(kFormatKey, {value.data(), value.size()})));
    return commit(writes);
  }

  // Writes are few and large, and what they hold is in the node's log as long as they are not
  // durable: a log of RocksDB's own would only write everything twice.
  Status commit(rocksdb::WriteBatch& writes) {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    GCOORD_TRY_STATUS(status_of(db_->Write(options, &writes)));
    return status_of(db_->Flush(rocksdb::FlushOptions()));
  }

  HorizonFilter filter_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> reclaiming_{false};
  std::thread reclaimer_;
  std::unique_ptr<rocksdb::WriteBatch> writes_;  // Of who writes; none: nothing was for a while.
  std::unique_ptr<rocksdb::Env> environment_;    // nullptr: RocksDB's own.
  RocksDatabase db_;
};

}  // namespace

Result<std::unique_ptr<HistoryStore>> HistoryStore::open(const std::string& path,
                                                         std::uint32_t shard_count,
                                                         const HistoryStoreOptions& options) {
  auto store = std::make_unique<RocksHistoryStore>(shard_count, options.room);
  GCOORD_TRY_STATUS(store->open(path, options.tables));
  return std::unique_ptr<HistoryStore>{std::move(store)};
}

}  // namespace gcoord::ledger
