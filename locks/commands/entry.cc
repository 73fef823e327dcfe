#include "locks/commands/entry.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::locks {
namespace {

LockEntry head_of(const LockCommand& command) {
  LockEntry entry;
  entry.head = static_cast<std::uint32_t>(command.kind) | static_cast<std::uint32_t>(command.flags)
                                                              << 8;
  entry.word[0] = command.session.value;
  entry.word[1] = command.sequence.value;
  const auto distance =
      static_cast<std::uint32_t>(command.sequence.value - command.acked_below.value);
  const bool names =
      command.kind == LockCommandKind::Acquire || command.kind == LockCommandKind::Release;
  const std::uint32_t number =
      command.kind == LockCommandKind::ExpireSession ? command.serial : command.ttl_ms;
  entry.word[2] = (names ? distance : 0) | std::uint64_t{number} << 32;
  entry.word[3] = command.name_hash.low;
  entry.word[4] = command.name_hash.high;
  entry.word[5] = command.token.value;
  return entry;
}

LockEntry piece_of(const LockCommand& command, std::uint32_t k) {
  LockEntry piece;
  piece.head = kEntryPiece | k << 16;
  piece.word[0] = piece_mark(command.session, command.sequence);
  const std::uint32_t first = kEntryNameBytes + k * kPieceNameBytes;
  const std::uint32_t count = std::min(kPieceNameBytes, command.name_bytes - first);
  std::memcpy(&piece.word[1], command.name + first, count);
  return piece;
}

}  // namespace

std::vector<LockEntry> entries_of(const LockCommand& command) {
  GCOORD_ASSERT(is_entry_command(command));
  std::vector<LockEntry> entries;
  if (is_text_kind(command.kind, command.flags)) {
    entries = text_pieces_of(command);
    entries.push_back(text_entry_of(command));
    return entries;
  }
  LockEntry head = head_of(command);
  if (command.kind == LockCommandKind::Acquire) {
    head.head |= static_cast<std::uint32_t>(command.name_bytes) << 16;
    head.word[5] = 0;
    std::memcpy(
        &head.word[5], command.name, std::min<std::size_t>(kEntryNameBytes, command.name_bytes));
    for (std::uint32_t k = 0; k < piece_count(command.name_bytes); ++k) {
      entries.push_back(piece_of(command, k));
    }
  }
  entries.push_back(head);
  return entries;
}

LockEntry barrier_entry() {
  LockEntry entry;
  entry.head = kEntryBarrier;
  return entry;
}

}  // namespace gcoord::locks
