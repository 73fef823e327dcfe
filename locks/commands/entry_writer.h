// Entries of a lock command for a log on a device, one after the other and without memory of their
// own: for who writes many into memory that is there.
//
// The same as entries_of() (entry.h), which collects them. Commands with a text (entry_text.h) are
// seldom and are collected here, too. Plain functions, thread-safe; host only.
#pragma once

#include "locks/commands/entry.h"

#include <cstdint>

namespace gcoord::locks {

// How many entries a command takes, pieces included. Asserts what decode() would reject and what
// does not fit, as entries_of().
std::uint32_t entry_count_of(const LockCommand& command);

// The entry of a command without a text, and its piece k of piece_count(name_bytes).
LockEntry plain_entry_of(const LockCommand& command);
LockEntry name_piece_of(const LockCommand& command, std::uint32_t k);

// Calls put(const LockEntry&) for each entry, pieces first. The caller has counted them.
template <typename Put>
void for_each_entry(const LockCommand& command, const Put& put) {
  if (is_text_kind(command.kind, command.flags)) {
    for (const LockEntry& piece : text_pieces_of(command)) {
      put(piece);
    }
    put(text_entry_of(command));
    return;
  }
  if (command.kind == LockCommandKind::Acquire) {
    for (std::uint32_t k = 0; k < piece_count(command.name_bytes); ++k) {
      put(name_piece_of(command, k));
    }
  }
  put(plain_entry_of(command));
}

}  // namespace gcoord::locks
