#include "locks/commands/entry.h"

#include "common/assert.h"
#include "locks/commands/entry_writer.h"

#include <algorithm>

namespace gcoord::locks {

LockEntry plain_entry_of(const LockCommand& command) {
  LockEntry entry;
  entry.head = static_cast<std::uint32_t>(command.kind) | static_cast<std::uint32_t>(command.flags)
                                                              << 8;
  entry.word[0] = command.session.value;
  entry.word[1] = command.sequence.value;
  const auto distance =
      static_cast<std::uint32_t>(command.sequence.value - command.acked_below.value);
  const bool acquires = command.kind == LockCommandKind::Acquire;
  const bool names = acquires || command.kind == LockCommandKind::Release;
  const std::uint32_t number =
      command.kind == LockCommandKind::ExpireSession ? command.serial : command.ttl_ms;
  entry.word[2] = (names ? distance : 0) | std::uint64_t{number} << 32;
  entry.word[3] = command.name_hash.low;
  entry.word[4] = command.name_hash.high;
  entry.word[5] = acquires ? 0 : command.token.value;
  if (acquires) {
    entry.head |= static_cast<std::uint32_t>(command.name_bytes) << 16;
    std::memcpy(
        &entry.word[5], command.name, std::min<std::size_t>(kEntryNameBytes, command.name_bytes));
  }
  return entry;
}

LockEntry name_piece_of(const LockCommand& command, std::uint32_t k) {
  LockEntry piece;
  piece.head = kEntryPiece | k << 16;
  piece.word[0] = piece_mark(command.session, command.sequence);
  const std::uint32_t first = kEntryNameBytes + k * kPieceNameBytes;
  const std::uint32_t count = std::min(kPieceNameBytes, command.name_bytes - first);
  std::memcpy(&piece.word[1], command.name + first, count);
  return piece;
}

std::uint32_t entry_count_of(const LockCommand& command) {
  GCOORD_ASSERT(is_entry_command(command));
  if (is_text_kind(command.kind, command.flags)) {
    return 1 + (has_text(command) ? text_piece_count(command) : 0);
  }
  return 1 + (command.kind == LockCommandKind::Acquire ? piece_count(command.name_bytes) : 0);
}

std::vector<LockEntry> entries_of(const LockCommand& command) {
  std::vector<LockEntry> entries;
  entries.reserve(entry_count_of(command));
  for_each_entry(command, [&entries](const LockEntry& entry) { entries.push_back(entry); });
  return entries;
}

LockEntry barrier_entry() {
  LockEntry entry;
  entry.head = kEntryBarrier;
  return entry;
}

}  // namespace gcoord::locks
