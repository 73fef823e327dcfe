// Reading one segment's bytes: how far its records are intact, and what the rest of it proves.
//
// Pure functions over the image of a segment file (or as much of it as there is); the rule that
// they apply is in wal_format.h. Any bytes are safe.
#pragma once

#include "ledger/base/lsn.h"
#include "ledger/wal/format.h"
#include "ledger/wal/recovery.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace gcoord::ledger {

// A place in the chain of records.
struct ChainEnd {
  Lsn lsn;                       // Of the record before this place.
  std::uint32_t header_crc = 0;  // Its header checksum.
};

// The intact records of a segment, from its first on.
struct SegmentScan {
  ChainEnd end;
  std::uint64_t end_offset = kRecordsOffset;
  std::uint64_t record_count = 0;
  // By slot, the identifiers that must lie in the identifier page; lsn 0 where none must.
  std::array<Identifier, kIdentifierSlotCount> identifiers{};
};

// Called with each intact record; false stops the scan before that record, as if it were damaged.
using RecordVisitor = std::function<bool(Lsn lsn, std::span<const std::byte> body)>;

SegmentScan scan_records(std::span<const std::byte> image,
                         const SegmentHeader& header,
                         const RecordVisitor& visitor);

// What a segment says about records from `scan.end` on.
struct TailEvidence {
  Lsn durable_lsn;           // The largest lsn proven to have been synced.
  Lsn begun_lsn;             // The largest lsn whose identifier survives.
  bool has_remains = false;  // Some byte after the end is not zero.
  bool has_successor = false;
  // An intact record whose intact identifier belongs to another record of the same lsn: one of the
  // two is a stale copy from before an earlier cut, and nothing says which.
  std::optional<Identifier> contradicted;
};

TailEvidence gather_evidence(std::span<const std::byte> image,
                             const SegmentHeader& header,
                             const SegmentScan& scan);

// What the end of the last segment means.
WalOutcome judge_tail(std::span<const std::byte> image,
                      const SegmentHeader& header,
                      const SegmentScan& scan,
                      const TailEvidence& evidence);

// The sector of an identifier slot; the successor mark has slot kSuccessorSlot.
std::span<const std::byte> identifier_sector(std::span<const std::byte> image, std::size_t slot);

}  // namespace gcoord::ledger
