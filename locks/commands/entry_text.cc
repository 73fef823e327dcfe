#include "locks/commands/entry_text.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::locks {

LockEntry text_entry_of(const LockCommand& command) {
  GCOORD_ASSERT(is_text_kind(command.kind, command.flags));
  GCOORD_ASSERT(is_text_command(command));
  LockEntry entry;
  const bool acquires = command.kind == LockCommandKind::Acquire;
  const bool asks = command.kind == LockCommandKind::GroupRequest;
  const bool breaks = command.kind == LockCommandKind::BreakLock;
  const bool named =
      acquires || breaks || is_group_kind(command.kind) || moves_by_name(command.kind);
  const std::uint32_t number = named ? command.name_bytes : command.note_bytes;
  entry.head = static_cast<std::uint32_t>(command.kind) |
               static_cast<std::uint32_t>(command.flags) << 8 | number << 16;
  entry.word[3] = command.name_hash.low;
  entry.word[4] = command.name_hash.high;
  if (is_move_kind(command.kind)) {
    put_move_words(command, entry);
    return entry;
  }
  entry.word[0] = command.session.value;
  entry.word[1] = command.sequence.value;
  if (breaks) {
    entry.word[2] = command.serial | std::uint64_t{command.note_bytes} << 32;
  } else if (asks || is_of_holder(command.kind)) {
    const std::uint64_t distance = command.sequence - command.acked_below;
    entry.word[2] = distance | std::uint64_t{acquires || asks ? command.ttl_ms : 0} << 32;
  }
  entry.word[5] = acquires ? pack_ask(hold_ask(command)) | std::uint64_t{command.note_bytes} << 48
                  : asks   ? command.note_bytes
                           : command.token.value;
  return entry;
}

std::vector<LockEntry> text_pieces_of(const LockCommand& command) {
  GCOORD_ASSERT(is_text_command(command));
  if (!has_text(command)) {
    return {};
  }
  const std::uint64_t word = text_word(command);
  EntryBytes text{};
  std::memcpy(text.bytes, &word, kTextWordBytes);
  std::copy_n(command.name, text_bytes(command), text.bytes + kTextWordBytes);
  std::vector<LockEntry> pieces(text_piece_count(command));
  for (std::uint32_t k = 0; k < pieces.size(); ++k) {
    pieces[k].head = kEntryPiece | k << 16;
    pieces[k].word[0] = text_mark(command, word);
    std::memcpy(&pieces[k].word[1], text.bytes + k * kPieceNameBytes, kPieceNameBytes);
  }
  return pieces;
}

}  // namespace gcoord::locks
