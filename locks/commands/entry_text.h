// Commands that say more than an entry has room for, and those that are seldom, as log entries on a
// device (docs/adr/0068).
//
// Acquires that ask for more, Proclaim, Transfer, BreakLock, lists of ends and what concerns groups
// have a text: a word, and behind it bytes. All of a text stands in pieces before the command's
// entry, whose words are
//
//   Acquire    session, sequence, distance 4 + ttl_ms 4, hash low, hash high, ask 6 + note bytes 2;
//              number: bytes of the name      text: hash of the note, name, note
//   Proclaim   as a release; number: bytes of the note           text: hash of the note, note
//   Transfer   as a release                                      text: the session that it names
//   BreakLock  0, hash of who and why, bytes of who 4 + of both 4, hash low, hash high, token;
//              number: bytes of the name      text: 0, name, who, why
//   EndDelay   0, 0, 0, hash low, hash high, token               no text
//   GroupRequest   session, sequence, distance 4 + ttl_ms 4, hash low, hash high, bytes of the
//   body;
//                  number: bytes of the name                     text: hash of the body, name, body
//   GroupWithdraw  session, sequence, 0, hash low, hash high, generation;
//                  number: bytes of the name                     text: 0, name
//   ExpireSessions 0, 0, 0, 0, 0, 0; number: bytes of the list   text: 0, the list
//   MoveOut, MoveIn, MoveDone, MoveLapse  see entry_move.h
//
// A device has no groups: it gives their requests a place in the window of their session, and its
// host, which applies the same entries, does the rest (docs/adr/0128).
//
// The pieces' mark follows from the command and the text's first word. What cannot be is Unknown,
// or nothing where only the pieces show it; that the hashes belong to the bytes, and that these are
// UTF-8, is the business of the host that made the entries, as it is for names.
//
// A device calls read_text() apart from its own code (GCOORD_HD_APART): plain commands pay for one
// question. Plain functions, host and device, but for the two at the end, which are the host's.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"
#include "locks/commands/entry_move.h"
#include "locks/commands/group_command.h"
#include "locks/commands/hold.h"
#include "locks/commands/limits.h"
#include "sessions/session_end.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace gcoord::locks {

// The word before a text's bytes, and the longest text: what the pieces of the longest name hold,
// so that a log keeps no more entries behind what is applied than it does for names.
inline constexpr std::uint32_t kTextWordBytes = 8;
inline constexpr std::uint32_t kTextBytesMax = kPiecesMax * kPieceNameBytes - kTextWordBytes;

static_assert(kGroupNameBytesMax + kGroupBodyBytesMax <= kTextBytesMax);

// Sessions that one list ends on a device.
inline constexpr std::uint32_t kEntryEndsMax = kTextBytesMax / sessions::kEndBytes;

static_assert(kEntryEndsMax <= sessions::kEndsMax);

// Whether an entry with such a head is one of these commands.
GCOORD_HD constexpr bool is_text_kind(LockCommandKind kind, std::uint8_t flags) {
  const bool rare = kind == LockCommandKind::BreakLock || kind == LockCommandKind::EndDelay ||
                    kind == LockCommandKind::ExpireSessions || changes_office(kind) ||
                    is_group_kind(kind) || is_move_kind(kind);
  return rare || (kind == LockCommandKind::Acquire && (flags & kAcquireHold) != 0);
}

GCOORD_HD constexpr bool has_text(const LockCommand& command) {
  return is_text_kind(command.kind, command.flags) && command.kind != LockCommandKind::EndDelay &&
         (!is_move_kind(command.kind) || moves_by_name(command.kind));
}

// Bytes of the text behind its word: they are the command's name and what follows it.
GCOORD_HD constexpr std::uint32_t text_bytes(const LockCommand& command) {
  return std::uint32_t{command.name_bytes} + command.note_bytes;
}

GCOORD_HD constexpr std::uint32_t text_piece_count(const LockCommand& command) {
  return (kTextWordBytes + text_bytes(command) + kPieceNameBytes - 1) / kPieceNameBytes;
}

GCOORD_HD constexpr std::uint64_t text_word(const LockCommand& command) {
  const bool hashed =
      command.kind == LockCommandKind::Acquire || command.kind == LockCommandKind::GroupRequest;
  return hashed                                    ? command.token.value
         : command.kind == LockCommandKind::MoveIn ? command.sequence.value
                                                   : office_word(command);
}

// Of all pieces of a text that begins with `word`. Where its parts end is part of what it says.
GCOORD_HD constexpr std::uint64_t text_mark(const LockCommand& command, std::uint64_t word) {
  // The sequence of a MoveIn is the word.
  const bool brings = command.kind == LockCommandKind::MoveIn;
  const std::uint64_t whose =
      piece_mark(command.session, brings ? RequestSequence{} : command.sequence);
  const bool breaks = command.kind == LockCommandKind::BreakLock;
  const std::uint64_t parts =
      static_cast<std::uint64_t>(command.kind) | std::uint64_t{command.name_bytes} << 8 |
      std::uint64_t{command.note_bytes} << 24 | std::uint64_t{breaks ? command.serial : 0} << 40;
  const std::uint64_t what = mix64(word ^ mix64(parts));
  return mix64(whose ^ mix64(command.name_hash.low ^ what)) ^ command.name_hash.high;
}

// --- What may be

GCOORD_HD constexpr bool is_break_command(const LockCommand& command) {
  const std::uint32_t who_bytes = command.serial;
  return (command.flags & ~(kBreakAll | kBreakProven)) == 0 && command.token.value != 0 &&
         command.name_bytes > 0 && command.name_bytes <= kNameBytesMax && who_bytes > 0 &&
         who_bytes <= kBreakWhoBytesMax && who_bytes < command.note_bytes &&
         command.note_bytes - who_bytes <= kNoteBytesMax;
}

// An acquire that asks for more: the plain ask without a note is a plain acquire's.
GCOORD_HD constexpr bool is_hold_command(const LockCommand& command) {
  constexpr std::uint8_t kFlags = kAcquireWait | kAcquireRegister | kAcquireHold;
  const HoldOptions ask = hold_ask(command);
  const bool noted = command.note_bytes != 0;
  const bool registers = (command.flags & kAcquireRegister) != 0;
  return (command.flags & ~kFlags) == 0 && command.name_bytes > 0 &&
         command.name_bytes <= kNameBytesMax && command.note_bytes <= kNoteBytesMax &&
         ask_sound(ask, noted) && (noted || pack_ask(ask) != 0) &&
         (!registers || (command.ttl_ms > 0 && command.ttl_ms <= kTtlMsMax));
}

GCOORD_HD constexpr bool is_group_request(const LockCommand& command) {
  const bool registers = (command.flags & kAcquireRegister) != 0;
  return (command.flags & ~kAcquireRegister) == 0 && registers == (command.ttl_ms != 0) &&
         command.ttl_ms <= kTtlMsMax && command.name_bytes > 0 &&
         command.name_bytes <= kGroupNameBytesMax && command.note_bytes > 0 &&
         command.note_bytes <= kGroupBodyBytesMax;
}

GCOORD_HD constexpr bool is_group_withdraw(const LockCommand& command) {
  return command.flags <= kWithdrawLastCall && command.name_bytes > 0 &&
         command.name_bytes <= kGroupNameBytesMax;
}

GCOORD_HD constexpr bool is_ends_list(const LockCommand& command) {
  return command.flags == 0 && command.note_bytes > 0 &&
         command.note_bytes % sessions::kEndBytes == 0;
}

// Its session and sequence are a client's.
GCOORD_HD constexpr bool is_of_client(const LockCommand& command) {
  return command.session.value != 0 && command.session != kKeeperSession &&
         command.sequence.value != 0 && !is_imported(command.sequence);
}

GCOORD_HD constexpr bool is_client_request(const LockCommand& command) {
  return is_of_client(command) && command.acked_below.value > 0 &&
         command.acked_below <= command.sequence &&
         command.sequence - command.acked_below <= 0xffff'ffffu;
}

// What decode() refuses, but for the text's bytes, and what has no room in kPiecesMax pieces, or
// kMovePiecesMax of a MoveIn.
GCOORD_HD constexpr bool is_text_command(const LockCommand& command) {
  if (is_move_kind(command.kind)) {
    return move_head_sound(command);
  }
  if (text_bytes(command) > kTextBytesMax) {
    return false;
  }
  switch (command.kind) {
    case LockCommandKind::EndDelay:
      return command.flags == 0 && command.token.value != 0;
    case LockCommandKind::BreakLock:
      return is_break_command(command);
    case LockCommandKind::Acquire:
      return is_client_request(command) && is_hold_command(command);
    case LockCommandKind::GroupRequest:
      return is_client_request(command) && is_group_request(command);
    case LockCommandKind::GroupWithdraw:
      return is_of_client(command) && is_group_withdraw(command);
    case LockCommandKind::ExpireSessions:
      return is_ends_list(command);
    default:
      return changes_office(command.kind) && is_client_request(command) &&
             (command.flags & ~kReleaseByToken) == 0 && command.token.value != 0 &&
             command.note_bytes <= kNoteBytesMax;
  }
}

// --- From the log

// What the words of these kinds say; the rest of the command is as it is for every kind.
GCOORD_HD inline void take_group_words(const LockEntry& entry, LockCommand& command) {
  const auto number = static_cast<std::uint16_t>(entry.head >> 16);
  if (command.kind == LockCommandKind::ExpireSessions) {
    command.note_bytes = number;
    command.name_hash = NameHash{};
    return;
  }
  command.name_bytes = number;
  command.session = SessionId{entry.word[0]};
  command.sequence = RequestSequence{entry.word[1]};
  if (command.kind == LockCommandKind::GroupWithdraw) {
    command.token = FencingToken{entry.word[5]};
    return;
  }
  command.acked_below = RequestSequence{entry.word[1] - static_cast<std::uint32_t>(entry.word[2])};
  command.ttl_ms = static_cast<std::uint32_t>(entry.word[2] >> 32);
  command.note_bytes = static_cast<std::uint16_t>(entry.word[5]);
}

GCOORD_HD constexpr bool has_group_words(LockCommandKind kind) {
  return is_group_kind(kind) || kind == LockCommandKind::ExpireSessions;
}

// Kinds with the words of an acquire or of a release.
GCOORD_HD constexpr bool is_of_holder(LockCommandKind kind) {
  return kind == LockCommandKind::Acquire || changes_office(kind);
}

// The fields that stand in the entry itself, of a kind that is_text_kind() knows; Unknown for what
// cannot be.
GCOORD_HD inline LockCommand text_command_of(const LockEntry& entry) {
  LockCommand command;
  command.kind = static_cast<LockCommandKind>(entry.head & 0xffu);
  command.flags = static_cast<std::uint8_t>(entry.head >> 8);
  command.name_hash = NameHash{entry.word[3], entry.word[4]};
  const auto number = static_cast<std::uint16_t>(entry.head >> 16);
  const auto low = static_cast<std::uint32_t>(entry.word[2]);
  const auto high = static_cast<std::uint32_t>(entry.word[2] >> 32);
  if (has_group_words(command.kind)) {
    take_group_words(entry, command);
  } else if (is_move_kind(command.kind)) {
    take_move_words(entry, command);
  } else if (command.kind == LockCommandKind::Acquire) {
    const HoldOptions ask = unpack_ask(entry.word[5]);
    command.name_bytes = number;
    command.ttl_ms = (command.flags & kAcquireRegister) != 0 ? high : 0;
    command.hold_flags = ask.flags;
    command.hold_permits = ask.permits;
    command.serial = ask.limit | std::uint32_t{ask.delay_ms} << 16;
    command.note_bytes = static_cast<std::uint16_t>(entry.word[5] >> 48);
  } else {
    command.token = FencingToken{entry.word[5]};
  }
  if (command.kind == LockCommandKind::BreakLock) {
    command.name_bytes = number;
    command.sequence = RequestSequence{entry.word[1]};
    command.serial = low;
    command.note_bytes = static_cast<std::uint16_t>(high);
  } else if (is_of_holder(command.kind)) {
    command.session = SessionId{entry.word[0]};
    command.sequence = RequestSequence{entry.word[1]};
    command.acked_below = RequestSequence{entry.word[1] - low};
    command.note_bytes = command.kind == LockCommandKind::Proclaim ? number : command.note_bytes;
  }
  if (!is_text_command(command)) {
    command = LockCommand{};
    command.kind = LockCommandKind::Unknown;
  }
  return command;
}

// Gives the command what its text says. False: it cannot be.
GCOORD_HD inline bool take_text(const char* bytes, LockCommand& command) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, kTextWordBytes);
  command.name = bytes + kTextWordBytes;
  if (command.kind == LockCommandKind::MoveIn) {
    command.sequence = RequestSequence{word};
    return (word == 0 || command.note_bytes != 0) && moved_sessions_sound(command);
  }
  if (command.kind == LockCommandKind::Acquire || command.kind == LockCommandKind::GroupRequest) {
    command.token = FencingToken{word};
  } else if (changes_office(command.kind)) {
    command.ttl_ms = static_cast<std::uint32_t>(word >> 32);
    command.serial = static_cast<std::uint32_t>(word);
  }
  if (command.kind == LockCommandKind::Transfer) {
    return word != 0;
  }
  const bool hashed = command.kind == LockCommandKind::Acquire ||
                      command.kind == LockCommandKind::Proclaim ||
                      command.kind == LockCommandKind::GroupRequest;
  return word == 0 || (hashed && command.note_bytes != 0);
}

// Puts the text of the command at `index` together from the entries before it: log(k) is the entry
// at an earlier index. False: they are not all there, or say what cannot be.
// `text` has an array of bytes, and what it has no room for is not there.
template <typename Index, typename Log, typename Text>
GCOORD_HD bool gather_text(
    const Log& log, Index index, std::uint64_t request, Text& text, LockCommand& command) {
  PiecesBefore<Index> pieces{index, request, text_piece_count(command)};
  if (index.value <= pieces.count || pieces.count * kPieceNameBytes > sizeof text.bytes) {
    return false;
  }
  const LockEntry first = log(Index{index.value - pieces.count});
  pieces.mark = text_mark(command, first.word[1]);
  return gather_pieces(log, pieces, text.bytes) && take_text(text.bytes, command);
}

// The command of the entry log(index), of a kind that is_text_kind() knows, with all that it says.
// False: see gather_text().
template <typename Index, typename Log, typename Text>
GCOORD_HD_APART bool read_text(Log log, Index index, Text& text, LockCommand& command) {
  const LockEntry entry = log(index);
  command = text_command_of(entry);
  return !has_text(command) || gather_text(log, index, entry.request, text, command);
}

// --- Into the log

// Of a command that is_text_command() knows. Host.
LockEntry text_entry_of(const LockCommand& command);
std::vector<LockEntry> text_pieces_of(const LockCommand& command);

}  // namespace gcoord::locks
