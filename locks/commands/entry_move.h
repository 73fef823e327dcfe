// Moves of locks as log entries on a device (docs/adr/0162).
//
// A part of entry_text.h, with its contract. The words of their entries are
//
//   MoveOut    to, 0, 0, hash low, hash high, 0; number: bytes of the name   text: 0, name
//   MoveIn     number 4 + from 4, token_last, bytes of the sessions, hash low, hash high, token;
//              number: bytes of the name               text: hash of the sessions, name, sessions
//   MoveDone   number, 0, 0, hash low, hash high, 0                          no text
//   MoveLapse  session, sequence, 0, hash low, hash high, 0                  no text
//
// A MoveIn brings up to 167 sessions, so its text is longer than any other: up to kMovePiecesMax
// pieces. A device keeps so many entries only while they are pieces that may still be needed, and
// reads such a text into memory that its group shares (server/resident/node/lock_turn_service.h).
// Plain functions, host and device; thread-safe.
#pragma once

#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"
#include "locks/commands/limits.h"
#include "locks/commands/move_command.h"

#include <cstdint>

namespace gcoord::locks {

// Of a MoveIn: name and sessions, and the pieces of the longest text with the word before it.
inline constexpr std::uint32_t kMoveTextBytesMax = kMoveCommandBytesMax - kMoveInHeadBytes;
inline constexpr std::uint32_t kMovePiecesMax =
    (8 + kMoveTextBytesMax + kPieceNameBytes - 1) / kPieceNameBytes;

// A text of any length, put together.
struct EntryBytes {
  char bytes[kMovePiecesMax * kPieceNameBytes];
};

// Whether one that moves has a text.
GCOORD_HD constexpr bool moves_by_name(LockCommandKind kind) {
  return kind == LockCommandKind::MoveOut || kind == LockCommandKind::MoveIn;
}

GCOORD_HD constexpr bool is_somebody(SessionId session) {
  return session.value != 0 && session != kKeeperSession;
}

// Of a MoveIn: numbers, tokens and lengths; not what its text says.
GCOORD_HD constexpr bool move_in_head_sound(const LockCommand& command) {
  const std::uint32_t count = moved_count(command);
  return moved_token_last(command) <= kMovedTokenMax &&
         command.token.value <= moved_token_last(command) &&
         command.note_bytes % kMovedSessionBytes == 0 && count <= kMoveWaitersMax + 1 &&
         (count == 0) == (command.token.value == 0) &&
         (count == 0 || move_fits(command.name_bytes, count - 1));
}

// What decode_move() refuses of the words of such a command; not of what its text says.
GCOORD_HD constexpr bool move_head_sound(const LockCommand& command) {
  const bool brings = command.kind == LockCommandKind::MoveIn;
  const std::uint8_t known = brings ? kMoveInLapses : 0;
  if ((command.flags & ~known) != 0) {
    return false;
  }
  if (command.kind == LockCommandKind::MoveLapse) {
    return is_somebody(command.session) && import_lapses(command.sequence);
  }
  const bool named = moves_by_name(command.kind);
  const bool numbered = command.kind != LockCommandKind::MoveOut;
  return (!named || (command.name_bytes > 0 && command.name_bytes <= kNameBytesMax)) &&
         (!numbered || (move_number(command) > 0 && move_number(command) <= kMoveNumberMax)) &&
         (!brings || move_in_head_sound(command));
}

// Whether a MoveIn whose head is sound brings sessions that may be.
GCOORD_HD inline bool moved_sessions_sound(const LockCommand& command) {
  const std::uint32_t count = moved_count(command);
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t i = 0; i <= kMoveWaitersMax && i < count; ++i) {
    const MovedSession moved = moved_session(command, i);
    if (!is_somebody(moved.session) || moved.ttl_ms == 0 || moved.ttl_ms > kTtlMsMax) {
      return false;
    }
  }
  return true;
}

// What the words of an entry of such a kind say; the rest of the command is as it is for every
// kind.
GCOORD_HD inline void take_move_words(const LockEntry& entry, LockCommand& command) {
  const auto number = static_cast<std::uint16_t>(entry.head >> 16);
  switch (command.kind) {
    case LockCommandKind::MoveOut:
      command.name_bytes = number;
      command.ttl_ms = static_cast<std::uint32_t>(entry.word[0]);
      return;
    case LockCommandKind::MoveIn:
      command.name_bytes = number;
      command.serial = static_cast<std::uint32_t>(entry.word[0]);
      command.ttl_ms = static_cast<std::uint32_t>(entry.word[0] >> 32);
      command.acked_below = RequestSequence{entry.word[1]};
      command.note_bytes = static_cast<std::uint16_t>(entry.word[2]);
      command.token = FencingToken{entry.word[5]};
      return;
    case LockCommandKind::MoveDone:
      command.serial = static_cast<std::uint32_t>(entry.word[0]);
      return;
    default:
      command.session = SessionId{entry.word[0]};
      command.sequence = RequestSequence{entry.word[1]};
      return;
  }
}

// The same words of a command. Host.
inline void put_move_words(const LockCommand& command, LockEntry& entry) {
  switch (command.kind) {
    case LockCommandKind::MoveOut:
      entry.word[0] = command.ttl_ms;
      return;
    case LockCommandKind::MoveIn:
      entry.word[0] = command.serial | std::uint64_t{command.ttl_ms} << 32;
      entry.word[1] = command.acked_below.value;
      entry.word[2] = command.note_bytes;
      entry.word[5] = command.token.value;
      return;
    case LockCommandKind::MoveDone:
      entry.word[0] = command.serial;
      return;
    default:
      entry.word[0] = command.session.value;
      entry.word[1] = command.sequence.value;
      return;
  }
}

}  // namespace gcoord::locks
