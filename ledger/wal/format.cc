#include "ledger/wal/format.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace gcoord::ledger {
namespace {

// First bytes on disk: never change without a new format version.
constexpr std::uint64_t kSegmentMagic = 0x314c4157'44524347;  // "GCRDWAL1"
constexpr std::uint32_t kIdentifierMagic = 0x44494347;        // "GCID"
constexpr std::uint32_t kSuccessorMagic = 0x58534347;         // "GCSX"
constexpr std::uint32_t kRecordMagic = 0x45524347;            // "GCRE"

constexpr std::size_t kTableEntryBytes = sizeof(std::uint32_t);
constexpr std::size_t kSegmentCrcOffset = kPageBytes - 4;
constexpr std::size_t kSectorCrcOffset = kSectorBytes - 4;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::uint32_t salted_crc(std::uint64_t salt, std::span<const std::byte> bytes) {
  std::array<std::byte, sizeof salt> prefix{};
  store(prefix.data(), salt);
  return crc32c(bytes, crc32c(prefix));
}

// One checksum for each sector of the body's length: at most one more than sectors follow the lead.
std::uint64_t table_bytes(std::uint64_t body_bytes) {
  return round_up(body_bytes, kSectorBytes) / kSectorBytes * kTableEntryBytes;
}

void seal_sector(std::span<std::byte> sector, std::uint64_t salt) {
  store(sector.data() + kSectorCrcOffset, salted_crc(salt, sector.first(kSectorCrcOffset)));
}

bool sector_holds(std::span<const std::byte> sector, std::uint64_t salt, std::uint32_t magic) {
  return load<std::uint32_t>(sector.data()) == magic &&
         load<std::uint32_t>(sector.data() + kSectorCrcOffset) ==
             salted_crc(salt, sector.first(kSectorCrcOffset));
}

std::uint32_t lead_crc_of(const RecordHeader& header, std::span<const std::byte> record) {
  return crc32c(record.subspan(kRecordHeaderBytes, header.lead_bytes() - kRecordHeaderBytes));
}

}  // namespace

std::string segment_name(std::uint64_t number) {
  std::array<char, 32> text{};
  const int length = std::snprintf(
      text.data(), text.size(), "wal-%016llx.seg", static_cast<unsigned long long>(number));
  return std::string{text.data(), static_cast<std::size_t>(length)};
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  constexpr std::size_t kNameLength = 24;
  if (name.size() != kNameLength || !name.starts_with("wal-") || !name.ends_with(".seg")) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(4, 16);
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(digits.begin(), digits.end(), number, 16);
  // The second test refuses capitals, so that a number has one name only.
  if (parsed.ptr != digits.end() || segment_name(number) != name) {
    return std::nullopt;
  }
  return number;
}

void encode_segment_header(const SegmentHeader& header, std::span<std::byte> page) {
  GCOORD_ASSERT(page.size() == kPageBytes);
  GCOORD_ASSERT(header.segment_bytes > kRecordsOffset);
  std::fill(page.begin(), page.end(), std::byte{0});
  auto* at = store(page.data(), kSegmentMagic);
  at = store(at, kWalFormatVersion);
  at = store(at, header.node.value);
  at = store(at, header.cluster.value);
  at = store(at, header.number);
  at = store(at, header.first_lsn.value);
  at = store(at, header.segment_bytes);
  at = store(at, header.salt);
  store(at, header.previous_crc);
  store(page.data() + kSegmentCrcOffset, crc32c(page.first(kSegmentCrcOffset)));
}

Result<SegmentHeader> decode_segment_header(std::span<const std::byte> page) {
  if (page.size() != kPageBytes || load<std::uint64_t>(page.data()) != kSegmentMagic ||
      load<std::uint32_t>(page.data() + kSegmentCrcOffset) !=
          crc32c(page.first(kSegmentCrcOffset))) {
    return Status{StatusCode::DataLoss, "the segment header is damaged", kWalRot};
  }
  const std::byte* at = page.data() + 8;
  const auto version = load<std::uint32_t>(at);
  if (version != kWalFormatVersion) {
    return Status{StatusCode::FailedPrecondition,
                  "the log has format " + std::to_string(version) + ", this release reads format " +
                      std::to_string(kWalFormatVersion) + "; start the release that wrote it",
                  kWalFormat};
  }
  SegmentHeader header;
  header.node = NodeId{load<std::uint32_t>(at + 4)};
  header.cluster = ClusterId{load<std::uint64_t>(at + 8)};
  header.number = load<std::uint64_t>(at + 16);
  header.first_lsn = Lsn{load<std::uint64_t>(at + 24)};
  header.segment_bytes = load<std::uint64_t>(at + 32);
  header.salt = load<std::uint64_t>(at + 40);
  header.previous_crc = load<std::uint32_t>(at + 48);
  if (header.number == 0 || header.first_lsn == Lsn{0} || header.segment_bytes <= kRecordsOffset ||
      header.segment_bytes % kPageBytes != 0 || header.segment_bytes > kSegmentBytesMax) {
    return Status{StatusCode::DataLoss, "the segment header is not valid", kWalRot};
  }
  return header;
}

void encode_identifier(const Identifier& identifier,
                       std::uint64_t salt,
                       std::span<std::byte> sector) {
  GCOORD_ASSERT(sector.size() == kSectorBytes);
  GCOORD_ASSERT(identifier.durable_lsn <= identifier.lsn);
  std::fill(sector.begin(), sector.end(), std::byte{0});
  auto* at = store(sector.data(), kIdentifierMagic);
  at = store(at, identifier.header_crc);
  at = store(at, identifier.lsn.value);
  at = store(at, identifier.durable_lsn.value);
  store(at, identifier.offset);
  seal_sector(sector, salt);
}

std::optional<Identifier> decode_identifier(std::span<const std::byte> sector, std::uint64_t salt) {
  GCOORD_ASSERT(sector.size() == kSectorBytes);
  if (!sector_holds(sector, salt, kIdentifierMagic)) {
    return std::nullopt;
  }
  const std::byte* at = sector.data() + 4;
  Identifier identifier;
  identifier.header_crc = load<std::uint32_t>(at);
  identifier.lsn = Lsn{load<std::uint64_t>(at + 4)};
  identifier.durable_lsn = Lsn{load<std::uint64_t>(at + 12)};
  identifier.offset = load<std::uint64_t>(at + 20);
  return identifier;
}

void encode_successor(std::uint64_t salt, std::span<std::byte> sector) {
  GCOORD_ASSERT(sector.size() == kSectorBytes);
  std::fill(sector.begin(), sector.end(), std::byte{0});
  store(sector.data(), kSuccessorMagic);
  seal_sector(sector, salt);
}

bool is_successor(std::span<const std::byte> sector, std::uint64_t salt) {
  GCOORD_ASSERT(sector.size() == kSectorBytes);
  return sector_holds(sector, salt, kSuccessorMagic);
}

std::uint64_t RecordHeader::body_offset() const {
  return kRecordHeaderBytes + table_bytes(body_bytes);
}

std::uint64_t RecordHeader::lead_bytes() const {
  return round_up(body_offset(), kSectorBytes);
}

std::uint64_t RecordHeader::total_bytes() const {
  return round_up(body_offset() + body_bytes, kSectorBytes);
}

std::uint64_t record_bytes(std::uint64_t body_bytes) {
  GCOORD_ASSERT(body_bytes <= kRecordBodyBytesMax);
  RecordHeader header;
  header.body_bytes = static_cast<std::uint32_t>(body_bytes);
  return header.total_bytes();
}

void encode_record(RecordHeader& header,
                   std::uint64_t salt,
                   std::span<const std::byte> body,
                   std::vector<std::byte>& image) {
  GCOORD_ASSERT(!body.empty());
  GCOORD_ASSERT(body.size() <= kRecordBodyBytesMax);
  GCOORD_ASSERT(header.durable_lsn < header.lsn);
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  const std::uint64_t lead_bytes = header.lead_bytes();
  const std::uint64_t body_end = header.body_offset() + body.size();
  image.resize(header.total_bytes());
  std::fill_n(image.data(), header.body_offset(), std::byte{0});
  std::copy(body.begin(), body.end(), image.data() + header.body_offset());
  std::fill(image.data() + body_end, image.data() + image.size(), std::byte{0});

  auto* entry = image.data() + kRecordHeaderBytes;
  for (std::uint64_t offset = lead_bytes; offset < image.size(); offset += kSectorBytes) {
    entry = store(entry, crc32c(std::span{image}.subspan(offset, kSectorBytes)));
  }
  header.lead_crc = lead_crc_of(header, image);

  auto* at = store(image.data(), kRecordMagic);
  at = store(at + 4, header.lsn.value);  // The header's own checksum goes between.
  at = store(at, header.durable_lsn.value);
  at = store(at, header.body_bytes);
  at = store(at, header.previous_crc);
  store(at, header.lead_crc);
  header.header_crc = salted_crc(salt, std::span{image}.subspan(8, kRecordHeaderBytes - 8));
  store(image.data() + 4, header.header_crc);
}

std::optional<RecordHeader> decode_record_header(std::span<const std::byte> bytes,
                                                 std::uint64_t salt) {
  if (bytes.size() < kSectorBytes || load<std::uint32_t>(bytes.data()) != kRecordMagic) {
    return std::nullopt;
  }
  const std::byte* at = bytes.data() + 4;
  RecordHeader header;
  header.header_crc = load<std::uint32_t>(at);
  if (header.header_crc != salted_crc(salt, bytes.subspan(8, kRecordHeaderBytes - 8))) {
    return std::nullopt;
  }
  header.lsn = Lsn{load<std::uint64_t>(at + 4)};
  header.durable_lsn = Lsn{load<std::uint64_t>(at + 12)};
  header.body_bytes = load<std::uint32_t>(at + 20);
  header.previous_crc = load<std::uint32_t>(at + 24);
  header.lead_crc = load<std::uint32_t>(at + 28);
  if (header.body_bytes == 0 || header.body_bytes > kRecordBodyBytesMax ||
      header.total_bytes() > bytes.size()) {
    return std::nullopt;
  }
  return header;
}

RecordState record_state(const RecordHeader& header, std::span<const std::byte> record) {
  GCOORD_ASSERT(record.size() == header.total_bytes());
  const std::uint64_t lead_bytes = header.lead_bytes();
  if (header.lead_crc != lead_crc_of(header, record)) {
    // The table cannot be trusted, so only the lead is judged; its first sector holds the header.
    for (std::uint64_t offset = kSectorBytes; offset < lead_bytes; offset += kSectorBytes) {
      if (all_zero(record.subspan(offset, kSectorBytes))) {
        return RecordState::Torn;
      }
    }
    return RecordState::Damaged;
  }
  RecordState state = RecordState::Intact;
  const std::byte* entry = record.data() + kRecordHeaderBytes;
  for (std::uint64_t offset = lead_bytes; offset < record.size(); offset += kSectorBytes) {
    const auto sector = record.subspan(offset, kSectorBytes);
    if (crc32c(sector) != load<std::uint32_t>(entry)) {
      if (all_zero(sector)) {
        return RecordState::Torn;
      }
      state = RecordState::Damaged;
    }
    entry += kTableEntryBytes;
  }
  return state;
}

std::span<const std::byte> record_body(const RecordHeader& header,
                                       std::span<const std::byte> record) {
  GCOORD_ASSERT(record.size() == header.total_bytes());
  return record.subspan(header.body_offset(), header.body_bytes);
}

std::span<const std::byte> intact_body(const RecordHeader& header,
                                       std::span<const std::byte> record) {
  GCOORD_ASSERT(record.size() == header.total_bytes());
  if (header.lead_crc != lead_crc_of(header, record)) {
    return {};
  }
  const std::byte* entry = record.data() + kRecordHeaderBytes;
  std::uint64_t intact_bytes = header.lead_bytes();
  while (intact_bytes < record.size() &&
         crc32c(record.subspan(intact_bytes, kSectorBytes)) == load<std::uint32_t>(entry)) {
    intact_bytes += kSectorBytes;
    entry += kTableEntryBytes;
  }
  const auto body = record_body(header, record);
  return body.first(std::min<std::uint64_t>(body.size(), intact_bytes - header.body_offset()));
}

bool all_zero(std::span<const std::byte> bytes) {
  // Each byte equals the one after it and the first is zero: one vectorised comparison.
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace gcoord::ledger
