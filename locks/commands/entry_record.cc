#include "locks/commands/entry_record.h"

#include "common/assert.h"
#include "common/crc32c.h"
#include "common/ids.h"
#include "common/random.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::locks {
namespace {

std::uint32_t pieces_of(std::uint32_t bytes) {
  return (bytes + kPieceNameBytes - 1) / kPieceNameBytes;
}

// Of all pieces of a record.
std::uint64_t mark_of(std::uint64_t checksum, std::uint32_t bytes) {
  return mix64(checksum ^ mix64(std::uint64_t{bytes} << 8 | kEntryRecord));
}

}  // namespace

std::vector<LockEntry> record_entries(std::span<const std::byte> record) {
  GCOORD_ASSERT(!record.empty() && record.size() <= kEntryRecordBytesMax);
  const auto bytes = static_cast<std::uint32_t>(record.size());
  const std::uint32_t checksum = crc32c(record);
  std::vector<LockEntry> entries(pieces_of(bytes) + 1);
  for (std::uint32_t k = 0; k + 1 < entries.size(); ++k) {
    const auto part = record.subspan(std::size_t{k} * kPieceNameBytes);
    entries[k].head = kEntryPiece | k << 16;
    entries[k].word[0] = mark_of(checksum, bytes);
    std::memcpy(
        &entries[k].word[1], part.data(), std::min<std::size_t>(part.size(), kPieceNameBytes));
  }
  entries.back().head = kEntryRecord | bytes << 16;
  entries.back().word[0] = checksum;
  return entries;
}

std::optional<std::vector<std::byte>> record_of(std::span<const LockEntry> pieces,
                                                const LockEntry& entry) {
  const std::uint32_t bytes = entry.number();
  const std::uint32_t count = pieces_of(bytes);
  if (bytes == 0 || bytes > kEntryRecordBytesMax || pieces.size() < count) {
    return std::nullopt;
  }
  pieces = pieces.last(count);
  const PiecesBefore<LogIndex> whole{
      LogIndex{count + 1u}, entry.request, count, mark_of(entry.word[0], bytes)};
  std::vector<std::byte> record(std::size_t{count} * kPieceNameBytes);
  for (std::uint32_t k = 0; k < count; ++k) {
    if (!whole.has(pieces[k], k)) {
      return std::nullopt;
    }
    std::memcpy(
        record.data() + std::size_t{k} * kPieceNameBytes, &pieces[k].word[1], kPieceNameBytes);
  }
  record.resize(bytes);
  return crc32c(record) == entry.word[0] ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace gcoord::locks
