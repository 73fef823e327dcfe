#include "ledger/wal/scan.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::ledger {
namespace {

// The record that continues the chain at this offset, when its header says so.
std::optional<RecordHeader> next_header(std::span<const std::byte> image,
                                        const SegmentHeader& segment,
                                        const SegmentScan& scan) {
  if (scan.end_offset >= image.size()) {
    return std::nullopt;
  }
  const auto header = decode_record_header(image.subspan(scan.end_offset), segment.salt);
  const bool continues = header && header->lsn == scan.end.lsn + 1 &&
                         header->previous_crc == scan.end.header_crc &&
                         header->durable_lsn <= scan.end.lsn;
  return continues ? header : std::nullopt;
}

void accept(SegmentScan& scan, const RecordHeader& header) {
  const std::size_t slot = header.lsn.value % kIdentifierSlotCount;
  scan.identifiers[slot] =
      Identifier{header.lsn, header.durable_lsn, scan.end_offset, header.header_crc};
  scan.end = ChainEnd{header.lsn, header.header_crc};
  scan.end_offset += header.total_bytes();
  ++scan.record_count;
}

// Rule 3 of wal_format.h: the record was begun, and nothing proves that it was synced.
WalOutcome judge_begun(std::span<const std::byte> image,
                       const SegmentHeader& segment,
                       const SegmentScan& scan) {
  const auto header = next_header(image, segment, scan);
  if (!header) {
    const auto remains = image.subspan(std::min<std::uint64_t>(scan.end_offset, image.size()));
    const auto first_sector = remains.first(std::min(remains.size(), kSectorBytes));
    return all_zero(first_sector) ? WalOutcome::TornTail : WalOutcome::Rot;
  }
  const auto record = image.subspan(scan.end_offset, header->total_bytes());
  return record_state(*header, record) == RecordState::Torn ? WalOutcome::TornTail
                                                            : WalOutcome::Rot;
}

}  // namespace

SegmentScan scan_records(std::span<const std::byte> image,
                         const SegmentHeader& header,
                         const RecordVisitor& visitor) {
  SegmentScan scan;
  scan.end = ChainEnd{header.first_lsn - 1, header.previous_crc};
  while (const auto record = next_header(image, header, scan)) {
    const auto bytes = image.subspan(scan.end_offset, record->total_bytes());
    if (record_state(*record, bytes) != RecordState::Intact ||
        !visitor(record->lsn, record_body(*record, bytes))) {
      break;
    }
    accept(scan, *record);
  }
  return scan;
}

TailEvidence gather_evidence(std::span<const std::byte> image,
                             const SegmentHeader& header,
                             const SegmentScan& scan) {
  TailEvidence evidence;
  evidence.durable_lsn = header.first_lsn - 1;
  for (std::size_t slot = 0; slot < kIdentifierSlotCount; ++slot) {
    if (const auto found = decode_identifier(identifier_sector(image, slot), header.salt)) {
      evidence.durable_lsn = max_id(evidence.durable_lsn, found->durable_lsn);
      evidence.begun_lsn = max_id(evidence.begun_lsn, found->lsn);
      const Identifier& expected = scan.identifiers[slot];
      if (found->lsn == expected.lsn && found->header_crc != expected.header_crc) {
        evidence.contradicted = expected;
      }
    }
  }
  for (const Identifier& expected : scan.identifiers) {
    evidence.durable_lsn = max_id(evidence.durable_lsn, expected.durable_lsn);
  }
  evidence.has_successor = is_successor(identifier_sector(image, kSuccessorSlot), header.salt);
  const std::uint64_t end = std::min<std::uint64_t>(scan.end_offset, image.size());
  evidence.has_remains = !all_zero(image.subspan(end));
  for (std::uint64_t offset = end; evidence.has_remains && offset < image.size();
       offset += kSectorBytes) {
    if (const auto found = decode_record_header(image.subspan(offset), header.salt)) {
      evidence.durable_lsn = max_id(evidence.durable_lsn, found->durable_lsn);
    }
  }
  return evidence;
}

WalOutcome judge_tail(std::span<const std::byte> image,
                      const SegmentHeader& header,
                      const SegmentScan& scan,
                      const TailEvidence& evidence) {
  if (evidence.durable_lsn > scan.end.lsn || evidence.has_successor || evidence.contradicted) {
    return WalOutcome::Rot;
  }
  if (evidence.begun_lsn > scan.end.lsn) {
    return judge_begun(image, header, scan);
  }
  return evidence.has_remains ? WalOutcome::TornTail : WalOutcome::Clean;
}

std::span<const std::byte> identifier_sector(std::span<const std::byte> image, std::size_t slot) {
  GCOORD_ASSERT(slot <= kSuccessorSlot);
  GCOORD_ASSERT(image.size() >= kRecordsOffset);
  return image.subspan(kIdentifierPageOffset + slot * kSectorBytes, kSectorBytes);
}

}  // namespace gcoord::ledger
