// The log of record byte by byte, and why recovery can tell a torn end from rot.
//
// Segment file, integers little-endian:
//   0     header page (4 KiB): identity, first lsn, checksum of the last record before this segment
//   4096  identifier page (4 KiB): seven slots of one sector, slot lsn % 7, and the successor mark
//   8192  records, each on a sector boundary; then zeros to the end
// Record: header (64 bytes), one CRC32C per body sector, body (wal_batch.h), zeros to the sector's
// end. The header has its own checksum, which covers those of everything else and the checksum of
// the record before: the records form a chain, so a stale or misplaced copy of a valid record is
// no part of it. All checksums are salted per segment: payloads cannot imitate a record.
//
// Identifier: {lsn, durable lsn, offset, header checksum} of a record, written with the record and
// so covered by the same fdatasync, on another page. After the sync the slot is written again with
// "durable lsn" = its own lsn: the seal. It becomes durable with the next sync, or when idle.
//
// What recovery knows, unsynced sectors having survived in any subset:
//   1. A segment's header is durable before its name exists, and all before it is durable by then.
//   2. D, the largest durable lsn in any intact identifier, record header or segment header:
//      records up to D were synced. Damage at or before D is rot. Nothing else is needed after a
//      process crash (seals are in the page cache) or a clean stop.
//   3. After a loss of power the last sync may have left no seal, so damage at k > D is judged by
//      its look. If no identifier of k or later survives, k was never synced: one fault cannot hit
//      both pages. If one does, a lost write leaves whole sectors of zeros (segments are zeroed
//      before use and never reused): such a record is torn. A sector that is neither zeros nor
//      right cannot come from a lost write: rot.
//   4. An intact record and an intact identifier of one lsn that name different checksums: one of
//      them is a stale copy from before an earlier cut. Rot.
// Undecidable remains only a loss of power together with a second fault that zeroes whole sectors
// of the very last synced record. The sector checksums make rule 3 exact.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/base/lsn.h"
#include "ledger/disk/disk.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::ledger {

// 1: commands without a header of their own (server/interfaces/log_record.h).
inline constexpr std::uint32_t kWalFormatVersion = 2;
inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::uint64_t kIdentifierPageOffset = kPageBytes;
inline constexpr std::uint64_t kRecordsOffset = 2 * kPageBytes;
inline constexpr std::size_t kIdentifierSlotCount = 7;
inline constexpr std::size_t kSuccessorSlot = 7;  // The eighth sector of the identifier page.
inline constexpr std::size_t kRecordHeaderBytes = 64;
// Far over any turn (a million votes are 17 MB), far under what a u32 of sectors can count.
inline constexpr std::uint64_t kRecordBodyBytesMax = std::uint64_t{1} << 30;
// No segment is larger: one record and what surrounds it.
inline constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{2} << 30;

// "wal-<16 hex digits>.seg", and its number; nothing for any other name.
std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> segment_number(std::string_view name);

struct SegmentHeader {
  std::uint64_t number = 0;  // From 1, rising by one.
  Lsn first_lsn;
  ClusterId cluster;
  NodeId node;
  std::uint64_t segment_bytes = 0;  // Size of the file.
  std::uint64_t salt = 0;
  std::uint32_t previous_crc = 0;  // Header checksum of record first_lsn - 1.
};

// page.size() == kPageBytes.
void encode_segment_header(const SegmentHeader& header, std::span<std::byte> page);
// DataLoss (kWalRot) or FailedPrecondition (kWalFormat), without a file name.
Result<SegmentHeader> decode_segment_header(std::span<const std::byte> page);

struct Identifier {
  Lsn lsn;
  Lsn durable_lsn;
  std::uint64_t offset = 0;
  std::uint32_t header_crc = 0;
};

// sector.size() == kSectorBytes.
void encode_identifier(const Identifier& identifier,
                       std::uint64_t salt,
                       std::span<std::byte> sector);
std::optional<Identifier> decode_identifier(std::span<const std::byte> sector, std::uint64_t salt);

// The mark in a full segment that its successor exists; a successor that is gone is then missed.
void encode_successor(std::uint64_t salt, std::span<std::byte> sector);
bool is_successor(std::span<const std::byte> sector, std::uint64_t salt);

struct RecordHeader {
  Lsn lsn;
  Lsn durable_lsn;  // Synced when this record was written.
  std::uint32_t body_bytes = 0;
  std::uint32_t previous_crc = 0;  // Header checksum of the record before.
  std::uint32_t lead_crc = 0;      // Of the bytes from the header's end to lead_bytes().
  std::uint32_t header_crc = 0;

  // The lead: the sectors with the header, the checksums and what of the body shares the last one.
  std::uint64_t body_offset() const;
  std::uint64_t lead_bytes() const;
  // Whole sectors; at least the lead.
  std::uint64_t total_bytes() const;
};

// Bytes on disk of a record with such a body.
std::uint64_t record_bytes(std::uint64_t body_bytes);

// Lays the record out in `image` (resized to whole sectors). Uses lsn, durable_lsn and previous_crc
// of `header`, and sets its other members.
void encode_record(RecordHeader& header,
                   std::uint64_t salt,
                   std::span<const std::byte> body,
                   std::vector<std::byte>& image);

// The header at the start of `bytes` when its checksum holds and the record fits into `bytes`.
std::optional<RecordHeader> decode_record_header(std::span<const std::byte> bytes,
                                                 std::uint64_t salt);

enum class RecordState : std::uint8_t {
  Intact,
  Torn,     // Some sector is all zeros and should not be: a write that never reached the disk.
  Damaged,  // Wrong, and no sector of zeros explains it.
};

// The state of what follows a valid header; record.size() == header.total_bytes().
RecordState record_state(const RecordHeader& header, std::span<const std::byte> record);

// The body of an intact record.
std::span<const std::byte> record_body(const RecordHeader& header,
                                       std::span<const std::byte> record);

// The part of a damaged record's body before its first wrong sector; empty when even that is
// unknown.
std::span<const std::byte> intact_body(const RecordHeader& header,
                                       std::span<const std::byte> record);

bool all_zero(std::span<const std::byte> bytes);

}  // namespace gcoord::ledger
