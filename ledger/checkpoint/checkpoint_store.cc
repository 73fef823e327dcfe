#include "ledger/checkpoint/checkpoint_store.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "ledger/base/error_details.h"
#include "ledger/base/rocksdb_open.h"
#include "ledger/space/roomy_files.h"

#include <rocksdb/write_batch.h>

#include <array>
#include <utility>

namespace gcoord::ledger {
namespace {

constexpr std::string_view kCoveredLsnKey = ".covered-lsn";
constexpr std::string_view kFormatKey = ".format";
// Every batch leaves its number in every column, and the newest so many stay. RocksDB takes the end
// of its MANIFEST for torn when a bit in a length there is flipped, and opens without the edits
// behind it: a column then lacks its newest table, though what came later is replayed from the log.
// So the numbers have a gap. What is not in a table yet is less than a memtable, which numbers
// alone fill sooner than there are this many: a gap is always among those that are kept.
constexpr std::string_view kBatchPrefix = ".batch";
constexpr std::uint64_t kBatchesKept = 65'536;
// 1: without numbers of batches. 2: of entries without headers, and states without a history.
constexpr std::uint64_t kFormat = 3;
constexpr std::size_t kColumnCount = 3;
constexpr std::array<const char*, kColumnCount> kColumnNames = {"hard", "service", "meta"};

// Memory bounds: a checkpoint is written and read in long runs, so little of it need stay.
constexpr std::size_t kBlockCacheBytes = std::size_t{8} << 20;
constexpr std::size_t kMemtableBytes = std::size_t{4} << 20;
constexpr std::size_t kMemtablesBytes = std::size_t{8} << 20;  // Of all columns together.
constexpr std::size_t kReadaheadBytes = std::size_t{2} << 20;
constexpr std::size_t kLogBytesMax = std::size_t{128} << 20;

rocksdb::Slice slice_of(std::span<const std::byte> bytes) {
  return rocksdb::Slice{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

constexpr RocksStoreNames kNames{.store = "checkpoint store",
                                 .contents = "a checkpoint",
                                 .rot = kCheckpointRot,
                                 .failed = kCheckpointFailed};

Status damaged(const std::string& what) {
  return rocks_damaged(kNames, what);
}

Status status_of(const rocksdb::Status& status) {
  return rocks_status(kNames, status);
}

rocksdb::DBOptions database_options(rocksdb::Env* environment) {
  rocksdb::DBOptions options = rocks_options(environment);
  options.create_missing_column_families = true;
  options.db_write_buffer_size = kMemtablesBytes;
  options.max_total_wal_size = kLogBytesMax;
  // Its log may lose damaged batches from the middle on; covered_lsn then falls back with them, and
  // the log of record, which was dropped up to the later one, refuses to open (kWalSegmentMissing).
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  return options;
}

// By CheckpointColumn, then the default one.
std::vector<rocksdb::ColumnFamilyDescriptor> columns() {
  const auto options = rocks_column_options(
      {.cache = rocksdb::NewLRUCache(kBlockCacheBytes), .memtable_bytes = kMemtableBytes});
  std::vector<rocksdb::ColumnFamilyDescriptor> columns;
  for (const char* name : kColumnNames) {
    columns.emplace_back(name, options);
  }
  columns.emplace_back(rocksdb::kDefaultColumnFamilyName, options);
  return columns;
}

// Its number behind the prefix, big-endian, so that they lie in order.
std::string batch_key(std::uint64_t batch) {
  std::string key{kBatchPrefix};
  for (int shift = 56; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(batch >> shift & 0xffu));
  }
  return key;
}

bool is_batch_key(std::string_view key) {
  return key.size() == kBatchPrefix.size() + sizeof(std::uint64_t) && key.starts_with(kBatchPrefix);
}

std::uint64_t batch_of_key(std::string_view key) {
  std::uint64_t batch = 0;
  for (const char byte : key.substr(kBatchPrefix.size())) {
    batch = batch << 8 | static_cast<unsigned char>(byte);
  }
  return batch;
}

struct Database {
  std::string path;
  std::unique_ptr<rocksdb::Env> environment;  // nullptr: RocksDB's own.
  RocksDatabase db;

  rocksdb::ColumnFamilyHandle* column(CheckpointColumn which) const {
    return db.column(static_cast<std::size_t>(which));
  }

  // The table file that holds the key, for the message; the key may also be in memory only.
  std::string file_of(CheckpointColumn which, std::span<const std::byte> key) const;

  // Splits checksum and value, and verifies.
  Result<std::span<const std::byte>> verify(CheckpointColumn which,
                                            std::span<const std::byte> key,
                                            std::span<const std::byte> stored) const;

  Result<std::vector<std::byte>> get(CheckpointColumn which, std::span<const std::byte> key) const;
  // 0 when the column has none.
  Result<std::uint64_t> number(CheckpointColumn which, std::string_view key) const;

  // The newest batch of a column of which no batch is missing; 0: there was none.
  Result<std::uint64_t> newest_batch(CheckpointColumn which) const;
};

std::string Database::file_of(CheckpointColumn which, std::span<const std::byte> key) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  const std::string wanted = slice_of(key).ToString();
  for (const auto& file : files) {
    if (file.column_family_name == column(which)->GetName() && file.smallestkey <= wanted &&
        wanted <= file.largestkey) {
      return file.db_path + file.name;
    }
  }
  return path;
}

Result<std::span<const std::byte>> Database::verify(CheckpointColumn which,
                                                    std::span<const std::byte> key,
                                                    std::span<const std::byte> stored) const {
  if (stored.size() >= kValueCrcBytes) {
    const auto bytes = stored.subspan(kValueCrcBytes);
    if (load<std::uint32_t>(stored.data()) == value_crc(key, bytes)) {
      return bytes;
    }
  }
  return damaged("wrong checksum of a value of column " + column(which)->GetName() + " in " +
                 file_of(which, key));
}

Result<std::vector<std::byte>> Database::get(CheckpointColumn which,
                                             std::span<const std::byte> key) const {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  rocksdb::PinnableSlice stored;
  const auto found = db->Get(options, column(which), slice_of(key), &stored);
  if (found.IsNotFound()) {
    return Status{StatusCode::NotFound, "the checkpoint store has no such value"};
  }
  GCOORD_TRY_STATUS(status_of(found));
  GCOORD_TRY(const auto bytes, verify(which, key, bytes_in(stored)));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<std::uint64_t> Database::number(CheckpointColumn which, std::string_view key) const {
  const auto bytes = get(which, bytes_of_text(key));
  if (bytes.status().code() == StatusCode::NotFound) {
    return std::uint64_t{0};
  }
  GCOORD_TRY_STATUS(bytes.status());
  if (bytes.value().size() != sizeof(std::uint64_t)) {
    return damaged("a number of the wrong size in " + path);
  }
  return load<std::uint64_t>(bytes.value().data());
}

Result<std::uint64_t> Database::newest_batch(CheckpointColumn which) const {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> row{db->NewIterator(options, column(which))};
  std::uint64_t count = 0;
  std::uint64_t first = 0;
  for (row->Seek(slice_of(bytes_of_text(kBatchPrefix))); row->Valid(); row->Next()) {
    const rocksdb::Slice key = row->key();
    if (!is_batch_key({key.data(), key.size()})) {
      break;
    }
    const std::uint64_t batch = batch_of_key({key.data(), key.size()});
    first = count == 0 ? batch : first;
    if (batch != first + count) {
      return damaged("column " + column(which)->GetName() + " lacks batch " +
                     std::to_string(first + count) + " in " + path);
    }
    ++count;
  }
  GCOORD_TRY_STATUS(status_of(row->status()));
  const std::uint64_t newest = first + count - (count > 0 ? 1 : 0);
  const std::uint64_t oldest = newest > kBatchesKept ? newest - kBatchesKept + 1 : 1;
  if (count > 0 && first != oldest) {
    return damaged("column " + column(which)->GetName() + " lacks batches before " +
                   std::to_string(first) + " in " + path);
  }
  return newest;
}

// The columns Hard and Service side by side, in the order of their keys.
class ShardRows {
 public:
  explicit ShardRows(const Database& database) : database_(database) {}

  Status open() {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.readahead_size = kReadaheadBytes;
    std::vector<rocksdb::Iterator*> opened;
    GCOORD_TRY_STATUS(status_of(database_.db->NewIterators(
        options,
        {database_.column(CheckpointColumn::Hard), database_.column(CheckpointColumn::Service)},
        &opened)));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].reset(opened[i]);
      rows_[i]->SeekToFirst();
    }
    return Status{};
  }

  bool at_end() const { return !rows_[0]->Valid() && !rows_[1]->Valid(); }

  // A copy, which outlives the step to the next row.
  std::string lowest_key() const {
    const bool first =
        rows_[0]->Valid() && (!rows_[1]->Valid() || rows_[0]->key().compare(rows_[1]->key()) <= 0);
    return rows_[first ? 0 : 1]->key().ToString();
  }

  // The verified value of this key, which is the lowest; empty when the column has none.
  Result<std::span<const std::byte>> value(CheckpointColumn which, const std::string& key) const {
    const auto& row = rows_[static_cast<std::size_t>(which)];
    if (!row->Valid() || row->key() != key) {
      return std::span<const std::byte>{};
    }
    return database_.verify(which, bytes_of_text(key), bytes_in(row->value()));
  }

  void advance_past(const std::string& key) {
    for (const auto& row : rows_) {
      if (row->Valid() && row->key() == key) {
        row->Next();
      }
    }
  }

  Status status() const {
    GCOORD_TRY_STATUS(status_of(rows_[0]->status()));
    return status_of(rows_[1]->status());
  }

 private:
  const Database& database_;
  std::array<std::unique_ptr<rocksdb::Iterator>, 2> rows_;
};

class RocksStore final : public CheckpointStore {
 public:
  RocksStore(std::unique_ptr<Database> database, Lsn covered, std::uint64_t newest_batch)
      : database_(std::move(database)), newest_batch_(newest_batch) {
    set_covered_lsn(covered);
  }

  Status write(const CheckpointBatch& batch) override;
  Status load(CheckpointVisitor& visitor) const override;

  Result<std::vector<std::byte>> get(CheckpointColumn column, ShardId shard) const override {
    std::array<std::byte, kShardKeyBytes> key{};
    encode_shard_key(shard, key);
    return database_->get(column, key);
  }

  Result<std::vector<std::byte>> get_meta(std::string_view key) const override {
    return database_->get(CheckpointColumn::Meta, bytes_of_text(key));
  }

 private:
  std::unique_ptr<Database> database_;
  std::uint64_t newest_batch_;  // The writer's.
};

// Puts a number behind its checksum.
Status put_number(rocksdb::WriteBatch& writes,
                  rocksdb::ColumnFamilyHandle* column,
                  std::string_view key,
                  std::uint64_t value) {
  std::array<std::byte, sizeof value> number{};
  std::array<std::byte, kValueCrcBytes> crc{};
  store(number.data(), value);
  store(crc.data(), value_crc(bytes_of_text(key), number));
  const std::array<rocksdb::Slice, 2> parts = {slice_of(crc), slice_of(number)};
  const rocksdb::Slice key_slice{key.data(), key.size()};
  return status_of(
      writes.Put(column, rocksdb::SliceParts(&key_slice, 1), rocksdb::SliceParts(parts.data(), 2)));
}

Status RocksStore::write(const CheckpointBatch& batch) {
  GCOORD_ASSERT(!batch.empty());
  rocksdb::WriteBatch writes(batch.size_bytes());
  for (std::size_t i = 0; i < batch.change_count(); ++i) {
    const CheckpointBatch::Change change = batch.change(i);
    auto* column = database_->column(change.column);
    GCOORD_TRY_STATUS(status_of(
        change.value.empty() ? writes.Delete(column, slice_of(change.key))
                             : writes.Put(column, slice_of(change.key), slice_of(change.value))));
  }
  auto* const meta = database_->column(CheckpointColumn::Meta);
  GCOORD_TRY_STATUS(put_number(writes, meta, kFormatKey, kFormat));
  if (batch.lsn() > Lsn{0}) {
    GCOORD_TRY_STATUS(put_number(writes, meta, kCoveredLsnKey, batch.lsn().value));
  }
  const std::uint64_t number = newest_batch_ + 1;
  for (const auto which :
       {CheckpointColumn::Hard, CheckpointColumn::Service, CheckpointColumn::Meta}) {
    auto* const column = database_->column(which);
    GCOORD_TRY_STATUS(put_number(writes, column, batch_key(number), number));
    if (number > kBatchesKept) {
      GCOORD_TRY_STATUS(status_of(writes.Delete(column, batch_key(number - kBatchesKept))));
    }
  }
  rocksdb::WriteOptions options;
  options.sync = true;
  GCOORD_TRY_STATUS(status_of(database_->db->Write(options, &writes)));
  newest_batch_ = number;  // Not before: a batch that failed may be followed by another.
  if (batch.lsn() > Lsn{0}) {
    set_covered_lsn(batch.lsn());
  }
  return Status{};
}

Status RocksStore::load(CheckpointVisitor& visitor) const {
  ShardRows rows{*database_};
  GCOORD_TRY_STATUS(rows.open());
  while (!rows.at_end() && visitor.wants_more()) {
    const std::string key = rows.lowest_key();
    if (is_batch_key(key)) {
      rows.advance_past(key);
      continue;
    }
    const auto key_bytes = bytes_of_text(key);
    if (key.size() != kShardKeyBytes) {
      return damaged("a key of the wrong size in " + database_->path);
    }
    GCOORD_TRY(const auto hard, rows.value(CheckpointColumn::Hard, key));
    GCOORD_TRY(const auto service, rows.value(CheckpointColumn::Service, key));
    visitor.on_shard(decode_shard_key(key_bytes), hard, service);
    rows.advance_past(key);
  }
  return rows.status();
}

}  // namespace

Result<std::unique_ptr<CheckpointStore>> CheckpointStore::open(const std::string& path,
                                                               DiskRoom* room) {
  auto database = std::make_unique<Database>();
  database->path = path;
  database->environment = roomy_environment(room);
  GCOORD_TRY(
      database->db,
      RocksDatabase::open(kNames, path, database_options(database->environment.get()), columns()));

  // 0: a store that was never written.
  GCOORD_TRY(const std::uint64_t format, database->number(CheckpointColumn::Meta, kFormatKey));
  if (format != kFormat && format != 0) {
    return Status{StatusCode::FailedPrecondition,
                  "the checkpoint store has format " + std::to_string(format) +
                      "; start the release that wrote it",
                  kCheckpointFormat};
  }
  GCOORD_TRY(const std::uint64_t covered, database->number(CheckpointColumn::Meta, kCoveredLsnKey));
  GCOORD_TRY(const std::uint64_t newest, database->newest_batch(CheckpointColumn::Meta));
  for (const auto which : {CheckpointColumn::Hard, CheckpointColumn::Service}) {
    GCOORD_TRY(const std::uint64_t batch, database->newest_batch(which));
    if (batch != newest) {
      return damaged("its columns end with different batches, " + std::to_string(batch) + " and " +
                     std::to_string(newest) + ", in " + path);
    }
  }
  return std::unique_ptr<CheckpointStore>{
      std::make_unique<RocksStore>(std::move(database), Lsn{covered}, newest)};
}

}  // namespace gcoord::ledger
