#include "ledger/base/rocksdb_open.h"

#include "ledger/base/background_jobs.h"
#include "ledger/base/error_details.h"

#include <rocksdb/table.h>

namespace gcoord::ledger {

Status rocks_damaged(const RocksStoreNames& names, const std::string& what) {
  return Status{StatusCode::DataLoss,
                std::string{"the "} + names.store + " is damaged: " + what + kRotAdvice,
                names.rot};
}

Status rocks_status(const RocksStoreNames& names, const rocksdb::Status& status) {
  if (status.ok()) {
    return Status{};
  }
  if (status.IsCorruption()) {
    return rocks_damaged(names, status.ToString());
  }
  if (status.IsNoSpace()) {
    return Status{StatusCode::ResourceExhausted,
                  std::string{"no space for "} + names.contents + ": " + status.ToString() +
                      "; free space there and start the node again",
                  kDiskFull};
  }
  return Status{StatusCode::Unavailable,
                std::string{"the "} + names.store + " failed: " + status.ToString() +
                    "; check the disk and the kernel log, then start the node again",
                names.failed};
}

rocksdb::DBOptions rocks_options(rocksdb::Env* environment) {
  rocksdb::DBOptions options;
  if (environment != nullptr) {
    options.env = environment;
  }
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.max_background_jobs = 2;
  options.max_open_files = 64;
  options.keep_log_file_num = 2;
  options.listeners.push_back(background_jobs());
  return options;
}

rocksdb::ColumnFamilyOptions rocks_column_options(const RocksColumnBounds& bounds) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = bounds.cache;
  table.cache_index_and_filter_blocks = true;
  table.block_size = bounds.block_bytes;
  table.format_version = 5;
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = bounds.memtable_bytes;
  options.max_write_buffer_number = 2;
  options.compression = rocksdb::kNoCompression;
  options.paranoid_file_checks = true;
  return options;
}

Result<RocksDatabase> RocksDatabase::open(
    const RocksStoreNames& names,
    const std::string& path,
    const rocksdb::DBOptions& options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& columns) {
  RocksDatabase database;
  rocksdb::DB* db = nullptr;
  GCOORD_TRY_STATUS(
      rocks_status(names, rocksdb::DB::Open(options, path, columns, &database.columns_, &db)));
  database.db_.reset(db);
  return database;
}

RocksDatabase::~RocksDatabase() {
  if (db_ == nullptr) {
    return;
  }
  // Nothing depends on the outcome: what was written is durable already.
  for (auto* column : columns_) {
    db_->DestroyColumnFamilyHandle(column).PermitUncheckedError();
  }
  db_->Close().PermitUncheckedError();
}

}  // namespace gcoord::ledger
