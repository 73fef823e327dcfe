// The segment of the log that is being written, and what is kept of the full ones.
//
// Knows where bytes go in one file and nothing of recovery, rolling or poisoning; the Wal does.
// Failures are the disk's. One thread at a time.
#pragma once

#include "common/status.h"
#include "ledger/base/lsn.h"
#include "ledger/disk/disk.h"
#include "ledger/wal/format.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gcoord::ledger {

// A full segment: what dropping it needs to know.
// Its file is closed; only recovery reads it again.
struct OldSegment {
  std::string name;
  Lsn last_lsn;
};

class WalSegment {
 public:
  // end_offset is where the next record goes.
  WalSegment(std::unique_ptr<DiskFile> file, const SegmentHeader& header, std::uint64_t end_offset)
      : file_(std::move(file)), header_(header), end_offset_(end_offset) {}

  // As it lies in the file.
  const SegmentHeader& header() const { return header_; }

  // Where the next record goes; on a sector boundary.
  std::uint64_t end_offset() const { return end_offset_; }

  // Whether such a record still has room; else the log begins the next segment.
  bool fits(std::uint64_t record_bytes) const {
    return end_offset_ + record_bytes <= header_.segment_bytes;
  }

  // Writes the record, as encode_record laid it out, at the end, and its identifier into its slot.
  // The record fits; neither is durable before the next sync.
  Status append(std::span<const std::byte> image, const RecordHeader& record);

  // Everything appended is durable on return.
  Status sync() { return file_->sync(); }

  // Writes the identifier of the last appended record again, now saying that it is durable.
  Status write_seal();

  // Notes durably that the next segment exists.
  Status mark_successor();

 private:
  Status write_identifier(const Identifier& identifier);

  std::unique_ptr<DiskFile> file_;
  SegmentHeader header_;
  std::uint64_t end_offset_;
  Identifier last_;  // Of the last record appended through this object.
  std::array<std::byte, kSectorBytes> sector_{};
};

}  // namespace gcoord::ledger
