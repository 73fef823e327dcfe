// The checkpoints of all shards of a node: in RocksDB, or in a simulation's memory
// (memory_checkpoint_store.h).
//
// A shard has two values, opaque here: `hard` (what its replica must not forget: term, vote, the
// log's start, ...) and `service` (the state of its services). The server encodes them. Each value
// carries a CRC32C over its key and bytes, checked whenever it is read, on top of RocksDB's own
// block checksums: a value that comes back is the value that was written, for that shard. Batches
// are numbered in every column, so that a table that RocksDB lost in silence is missed at open().
//
// One batch is atomic and durable. A checkpoint too large for one batch may be written in several:
// give the lsn with the last one only, and let values carry the index they are applied up to, since
// replay then begins before what they hold.
//
// Failures: DataLoss (kCheckpointRot, naming the file when known), ResourceExhausted (kDiskFull),
// FailedPrecondition (kCheckpointFormat),
// else Unavailable (kCheckpointFailed). One thread may write while others read.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/lsn.h"
#include "ledger/checkpoint/checkpoint_batch.h"
#include "ledger/disk/room.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

// Told of every shard in ascending order; spans live only for the call. An absent value is empty.
class CheckpointVisitor {
 public:
  virtual ~CheckpointVisitor() = default;
  virtual void on_shard(ShardId shard,
                        std::span<const std::byte> hard,
                        std::span<const std::byte> service) = 0;

  // Asked before each shard; load() ends early, and well, when not.
  virtual bool wants_more() { return true; }
};

class CheckpointStore {
 public:
  // Opens the store in the directory `path`, in RocksDB, creating it when there is none. What it
  // writes waits for `room`, which outlives it; nullptr: for nothing.
  static Result<std::unique_ptr<CheckpointStore>> open(const std::string& path,
                                                       DiskRoom* room = nullptr);
  CheckpointStore() = default;
  virtual ~CheckpointStore() = default;
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  // Atomic; durable when it returns ok.
  virtual Status write(const CheckpointBatch& batch) = 0;

  // Streams all shards. Each value is verified before the visitor sees it.
  virtual Status load(CheckpointVisitor& visitor) const = 0;

  // One value; NotFound when the shard has none.
  virtual Result<std::vector<std::byte>> get(CheckpointColumn column, ShardId shard) const = 0;
  virtual Result<std::vector<std::byte>> get_meta(std::string_view key) const = 0;

  // The lsn that the store covers; replay begins after it. 0 in a new store.
  // Acquire: pairs with the release at the end of write.
  Lsn covered_lsn() const { return Lsn{covered_lsn_.load(std::memory_order_acquire)}; }

 protected:
  void set_covered_lsn(Lsn lsn) { covered_lsn_.store(lsn.value, std::memory_order_release); }

 private:
  std::atomic<std::uint64_t> covered_lsn_{0};
};

}  // namespace gcoord::ledger
