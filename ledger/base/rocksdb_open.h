// A RocksDB database as the stores of a node open it.
//
// The stores share their options, their rules for what a failure means, and the order in which
// columns and database are closed. What they write and read, and which bounds they set, is theirs.
// A database that is open is as thread-safe as RocksDB makes it.
#pragma once

#include "common/status.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::ledger {

// The words by which messages name a store, and the numbers of its failures.
struct RocksStoreNames {
  const char* store;     // "checkpoint store".
  const char* contents;  // "a checkpoint": what a full disk has no space for.
  std::uint32_t rot;
  std::uint32_t failed;
};

// DataLoss, with what an operator can do.
Status rocks_damaged(const RocksStoreNames& names, const std::string& what);

// Corruption is DataLoss, a full disk ResourceExhausted (kDiskFull), all else Unavailable.
Status rocks_status(const RocksStoreNames& names, const rocksdb::Status& status);

inline std::span<const std::byte> bytes_in(const rocksdb::Slice& slice) {
  return std::as_bytes(std::span{slice.data(), slice.size()});
}

// The options in common; the caller adds its own. `environment` outlives the database; nullptr:
// RocksDB's own.
rocksdb::DBOptions rocks_options(rocksdb::Env* environment);

struct RocksColumnBounds {
  std::shared_ptr<rocksdb::Cache> cache;
  std::size_t memtable_bytes = 0;
  std::size_t block_bytes = 4096;  // RocksDB's default.
};

// Two memtables, no compression, every new table read back.
rocksdb::ColumnFamilyOptions rocks_column_options(const RocksColumnBounds& bounds);

// An open database with its columns; closes itself.
class RocksDatabase {
 public:
  // The columns in the order in which column() counts them; the default one is among them.
  static Result<RocksDatabase> open(const RocksStoreNames& names,
                                    const std::string& path,
                                    const rocksdb::DBOptions& options,
                                    const std::vector<rocksdb::ColumnFamilyDescriptor>& columns);

  RocksDatabase() = default;
  ~RocksDatabase();

  RocksDatabase(RocksDatabase&& other) noexcept { swap(other); }

  RocksDatabase& operator=(RocksDatabase&& other) noexcept {
    swap(other);
    return *this;
  }

  rocksdb::DB* operator->() const { return db_.get(); }

  rocksdb::DB& operator*() const { return *db_; }

  rocksdb::ColumnFamilyHandle* column(std::size_t index) const { return columns_[index]; }

 private:
  void swap(RocksDatabase& other) noexcept {
    db_.swap(other.db_);
    columns_.swap(other.columns_);
  }

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> columns_;
};

}  // namespace gcoord::ledger
