#include "ledger/wal/wal.h"

#include "common/assert.h"
#include "common/random.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gcoord::ledger {
namespace {

// How much faster the spare fills than the log: it is whole when the segment in use is half full.
constexpr std::uint64_t kSpareFactor = 2;

std::uint64_t round_up_to_page(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

Wal::Wal(Disk& disk, const WalOptions& options)
    : disk_(disk), options_(options), spare_(disk, options.segment_bytes, options.room) {}

Result<std::unique_ptr<Wal>> Wal::open(Disk& disk,
                                       const WalOptions& options,
                                       WalVisitor& replay,
                                       WalRecovery* report) {
  GCOORD_ASSERT(options.segment_bytes % kPageBytes == 0);
  GCOORD_ASSERT(options.segment_bytes > kRecordsOffset);
  GCOORD_ASSERT(options.segment_bytes <= kSegmentBytesMax);
  WalRecovery ignored;
  GCOORD_TRY(auto log, recover_wal(disk, options, replay, report != nullptr ? *report : ignored));
  std::unique_ptr<Wal> wal{new Wal(disk, options)};
  GCOORD_TRY_STATUS(wal->spare_.discard());
  if (log) {
    wal->older_ = std::move(log->older);
    wal->tail_ = std::move(log->tail);
    wal->last_lsn_ = log->last_lsn;
    wal->chain_crc_ = log->chain_crc;
  } else if (options.on_absence == WalAbsence::Refuse || options.replay_after > Lsn{0}) {
    return Status{StatusCode::DataLoss,
                  std::string("the log of record is gone although this node has persisted before") +
                      kRotAdvice,
                  kWalAbsent};
  } else {
    GCOORD_TRY_STATUS(wal->roll(0));
  }
  wal->durable_lsn_ = wal->last_lsn_;
  return wal;
}

Result<Lsn> Wal::append(const WalBatch& batch) {
  GCOORD_ASSERT(!batch.empty());
  if (!failure_.ok()) {
    return failure_;
  }
  const auto body = batch.encoded();
  if (body.size() > kRecordBodyBytesMax) {
    return poison(Status{StatusCode::InvalidArgument,
                         "a turn of " + std::to_string(body.size()) +
                             " bytes does not fit into a record; lower the bytes per turn",
                         kWalRecordTooLarge});
  }
  const std::uint64_t needed_bytes = record_bytes(body.size());
  if (!tail_->fits(needed_bytes)) {
    if (Status status = roll(needed_bytes); !status.ok()) {
      return poison(std::move(status));
    }
  }
  RecordHeader header;
  header.lsn = last_lsn_ + 1;
  header.durable_lsn = durable_lsn_;
  header.previous_crc = chain_crc_;
  encode_record(header, tail_->header().salt, body, image_);
  GCOORD_ASSERT(image_.size() == needed_bytes);
  if (Status status = tail_->append(image_, header); !status.ok()) {
    return poison(std::move(status));
  }
  last_lsn_ = header.lsn;
  chain_crc_ = header.header_crc;
  sealed_ = false;
  appended_bytes_ += needed_bytes;
  if (Status status = spare_.advance(needed_bytes * kSpareFactor); !status.ok()) {
    return poison(std::move(status));
  }
  return last_lsn_;
}

Status Wal::sync() {
  if (!failure_.ok() || durable_lsn_ == last_lsn_) {
    return failure_;
  }
  if (Status status = tail_->sync(); !status.ok()) {
    return poison(std::move(status));
  }
  durable_lsn_ = last_lsn_;
  if (Status status = tail_->write_seal(); !status.ok()) {
    return poison(std::move(status));
  }
  return Status{};
}

Status Wal::seal() {
  GCOORD_TRY_STATUS(sync());
  if (sealed_) {
    return Status{};
  }
  if (Status status = tail_->sync(); !status.ok()) {
    return poison(std::move(status));
  }
  sealed_ = true;
  return Status{};
}

Status Wal::drop_through(Lsn lsn) {
  if (!failure_.ok()) {
    return failure_;
  }
  while (!older_.empty() && older_.front().last_lsn <= lsn) {
    // Each removal durable before the next, so that no crash leaves a gap.
    Status status = disk_.remove(older_.front().name);
    if (status.ok()) {
      status = disk_.sync_directory();
    }
    if (!status.ok()) {
      return poison(std::move(status));
    }
    older_.pop_front();
  }
  return Status{};
}

// Ends the segment in use, if any, and begins the next, large enough for the record.
Status Wal::roll(std::uint64_t record_bytes) {
  GCOORD_TRY_STATUS(sync());
  const std::uint64_t needed_bytes = round_up_to_page(kRecordsOffset + record_bytes);
  GCOORD_TRY(SpareFile spare, spare_.take(needed_bytes));

  SegmentHeader header;
  header.number = tail_ == nullptr ? 1 : tail_->header().number + 1;
  header.first_lsn = last_lsn_ + 1;
  header.cluster = options_.cluster;
  header.node = options_.node;
  header.segment_bytes = spare.size_bytes;
  header.salt = random64(options_.salt_seed, header.number, header.first_lsn.value);
  header.previous_crc = chain_crc_;
  std::array<std::byte, kPageBytes> page{};
  encode_segment_header(header, page);
  GCOORD_TRY_STATUS(spare.file->write(0, page));
  GCOORD_TRY_STATUS(spare.file->sync());
  GCOORD_TRY_STATUS(disk_.rename(spare.name, segment_name(header.number)));
  GCOORD_TRY_STATUS(disk_.sync_directory());
  if (tail_ != nullptr) {
    GCOORD_TRY_STATUS(tail_->mark_successor());
    older_.push_back(OldSegment{segment_name(tail_->header().number), last_lsn_});
  }
  tail_ = std::make_unique<WalSegment>(std::move(spare.file), header, kRecordsOffset);
  sealed_ = true;
  return Status{};
}

Status Wal::poison(Status status) {
  GCOORD_ASSERT(!status.ok());
  if (failure_.ok()) {
    failure_ = std::move(status);
  }
  return failure_;
}

}  // namespace gcoord::ledger
