#include "server/resident/stored/state.h"

#include "common/assert.h"
#include "locks/commands/entry.h"
#include "locks/commands/entry_record.h"

#include <cstring>

namespace gcoord::server {

std::optional<StoredParts> split_stored_state(std::span<const std::byte> bytes) {
  StoredParts parts;
  if (bytes.empty()) {
    return parts;
  }
  if (bytes.size() < sizeof parts.head) {
    return std::nullopt;
  }
  std::memcpy(&parts.head, bytes.data(), sizeof parts.head);
  const auto rest = bytes.subspan(sizeof parts.head);
  if (parts.head.piece_count > locks::kRecordPiecesMax ||
      rest.size() / sizeof(locks::LockEntry) < parts.head.piece_count) {
    return std::nullopt;
  }
  parts.pieces = rest.first(parts.head.piece_count * sizeof(locks::LockEntry));
  parts.service = rest.subspan(parts.pieces.size());
  return parts;
}

void begin_stored_state(std::vector<std::byte>& bytes,
                        const StoredHead& head,
                        std::span<const std::byte> pieces) {
  GCOORD_ASSERT(pieces.size() == head.piece_count * sizeof(locks::LockEntry));
  const auto header = std::as_bytes(std::span{&head, 1});
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), pieces.begin(), pieces.end());
}

}  // namespace gcoord::server
