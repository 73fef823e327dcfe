// The log of record of one node: every shard's new entries, terms and votes, one record per turn.
//
// Records lie in preallocated segment files `wal-<16 hex digits>.seg`. A record is acknowledged
// when sync() has returned ok; one sync covers all records appended before it. The byte format and
// the argument why recovery can decide are in wal_format.h and docs/adr/0011-wal-recovery.md.
//
// What open() promises, for any mixture of lost unsynced sectors:
//   - every record that was synced is replayed, in lsn order, exactly once;
//   - records that were appended but not synced are replayed or not, but only as a prefix;
//   - what is replayed is durable when open() returns.
// And for one damaged place on top of that (a flipped bit, a zeroed, swapped or stale block, a
// truncated or missing segment): damage to a synced record is never cut away. open() then fails
// with DataLoss (kWalRot or kWalSegmentMissing) and names segment, offset and lsn: this node must
// not vote or lead until the range is repaired from its peers.
//
// Failures are final: after a write or sync failed, every later call returns that same Status and
// nothing is tried again; the caller stops the process. One thread at a time.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/lsn.h"
#include "ledger/disk/disk.h"
#include "ledger/wal/batch.h"
#include "ledger/wal/options.h"
#include "ledger/wal/recovery.h"
#include "ledger/wal/segment.h"
#include "ledger/wal/spare.h"
#include "ledger/wal/visitor.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace gcoord::ledger {

class Wal {
 public:
  // Recovers the log, replays the records after options.replay_after and makes it ready to append.
  // `report`, when given, is filled also when opening fails; it then names the faulty range.
  static Result<std::unique_ptr<Wal>> open(Disk& disk,
                                           const WalOptions& options,
                                           WalVisitor& replay,
                                           WalRecovery* report = nullptr);

  // Writes the batch as one record, without waiting for the disk. The batch is not empty. Starts
  // the next segment when this one is full.
  Result<Lsn> append(const WalBatch& batch);

  // One fdatasync; afterwards every appended record is durable, and a mark that says so lies beside
  // them, to be persisted by the next sync or seal.
  Status sync();

  // Persists that mark. Called when idle and at the end: from then on even a fault in the very last
  // record is known for what it is. Costs one fdatasync, nothing when there is nothing to seal.
  Status seal();

  // Removes the segments whose records all have lsn <= `lsn`. Only a checkpoint that is durable and
  // covers these records permits it. The segment in use always stays.
  Status drop_through(Lsn lsn);

  // Called while a segment waits for room on the disk, by the thread that appends (RoomWish).
  // drop_through may be called there, and is what frees some.
  void while_full(std::function<Status()> work) { spare_.while_full(std::move(work)); }

  Lsn last_lsn() const { return last_lsn_; }

  Lsn durable_lsn() const { return durable_lsn_; }

  std::size_t segment_count() const { return older_.size() + 1; }

  // Bytes of all records appended since open, padding included.
  std::uint64_t appended_bytes() const { return appended_bytes_; }

 private:
  Wal(Disk& disk, const WalOptions& options);

  Status roll(std::uint64_t record_bytes);
  Status activate(std::unique_ptr<DiskFile> file, std::uint64_t segment_bytes);
  Status poison(Status status);

  Disk& disk_;
  WalOptions options_;
  WalSpare spare_;
  std::deque<OldSegment> older_;      // Full segments, oldest first.
  std::unique_ptr<WalSegment> tail_;  // The segment in use.
  std::vector<std::byte> image_;      // The record being written; kept warm.
  Lsn last_lsn_;
  Lsn durable_lsn_;
  bool sealed_ = true;
  std::uint32_t chain_crc_ = 0;  // Header checksum of the last record.
  std::uint64_t appended_bytes_ = 0;
  Status failure_;
};

}  // namespace gcoord::ledger
