// Lock commands as log entries of one fixed size, for a log that lives on a device.
//
// A command takes one entry of 64 bytes. The bytes of a name beyond the first eight stand in
// pieces, entries of their own right before the command's: a piece says whose it is, which one, and
// that is all; alone it means nothing. A command whose pieces are not all there, side by side (a
// leader that was lost between them, a piece that found no room), is applied as nothing and leaves
// no trace. The name's hash travels with a command, because a device would hash one name in one
// thread.
//
//   head      kind 1, flags 1, name_bytes or number of the piece 2
//   command   words: session, sequence, acked_below's distance 4 + ttl_ms or serial 4, hash low,
//   hash
//             high, token or the name's first bytes
//   piece     words: the command's mark, then 40 bytes of the name
//
// Commands that say more than these words, or are seldom, are in lock_entry_text.h.
//
// What does not come from a command of ours may say anything: command_of() gives Unknown for what
// cannot be. Plain functions, host and device, but for entries_of() and
// barrier_entry(), which are the host's.
#pragma once

#include "common/hd.h"
#include "locks/commands/break_wait.h"
#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"
#include "locks/commands/entry_text.h"
#include "locks/commands/limits.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gcoord::locks {

// What decode() refuses, but for the name's bytes (lock_command.h); of commands without a text.
GCOORD_HD inline bool is_plain_command(const LockCommand& command) {
  const bool acquires = command.kind == LockCommandKind::Acquire;
  const bool releases = command.kind == LockCommandKind::Release;
  const bool has_ttl = command.kind == LockCommandKind::RegisterSession ||
                       (acquires && (command.flags & kAcquireRegister) != 0);
  const std::uint8_t flags = acquires   ? kAcquireWait | kAcquireRegister
                             : releases ? kReleaseByToken
                             : command.kind == LockCommandKind::CancelWait ? kCancelTimedOut
                                                                           : 0;
  const bool sequenced = acquires || releases || command.kind == LockCommandKind::CancelWait ||
                         command.kind == LockCommandKind::CloseSession;
  if (command.kind == LockCommandKind::BreakWait) {
    return break_wait_sound(command);
  }
  bool sane = (command.flags & ~flags) == 0 && command.session.value != 0 &&
              command.session != kKeeperSession && !is_imported(command.sequence) &&
              (!sequenced || command.sequence.value != 0);
  if (acquires || releases) {
    sane = sane && command.acked_below.value > 0 && command.acked_below <= command.sequence;
  }
  if (acquires) {
    sane = sane && command.name_bytes > 0 && command.name_bytes <= kNameBytesMax;
  }
  if (has_ttl) {
    sane = sane && command.ttl_ms > 0 && command.ttl_ms <= kTtlMsMax;
  }
  sane = sane && (!releases || command.token.value != 0);
  return sane && (command.kind != LockCommandKind::ExpireSession || command.serial != 0);
}

// Whether it is sound, and a log on a device has room for it.
GCOORD_HD inline bool is_entry_command(const LockCommand& command) {
  return is_text_kind(command.kind, command.flags) ? is_text_command(command)
                                                   : is_plain_command(command);
}

GCOORD_HD inline bool is_text_entry(const LockEntry& entry) {
  return is_text_kind(static_cast<LockCommandKind>(entry.kind()),
                      static_cast<std::uint8_t>(entry.head >> 8));
}

// The command of an entry without a text. Its name is not set.
GCOORD_HD inline LockCommand plain_command_of(const LockEntry& entry) {
  LockCommand command;
  command.kind = static_cast<LockCommandKind>(entry.kind());
  command.flags = static_cast<std::uint8_t>(entry.head >> 8);
  command.session = SessionId{entry.word[0]};
  const auto acked = static_cast<std::uint32_t>(entry.word[2]);
  const auto number = static_cast<std::uint32_t>(entry.word[2] >> 32);
  switch (command.kind) {
    case LockCommandKind::Acquire:
      command.name_bytes = static_cast<std::uint16_t>(entry.number());
      command.ttl_ms = (command.flags & kAcquireRegister) != 0 ? number : 0;
      break;
    case LockCommandKind::Release:
      command.token = FencingToken{entry.word[5]};
      break;
    case LockCommandKind::BreakWait:
      command.sequence = RequestSequence{entry.word[1]};
      command.token = FencingToken{entry.word[5]};
      break;
    case LockCommandKind::RegisterSession:
      command.ttl_ms = number;
      break;
    case LockCommandKind::ExpireSession:
      command.serial = number;
      break;
    case LockCommandKind::CancelWait:
    case LockCommandKind::CloseSession:
      break;
    case LockCommandKind::Noop:
    case LockCommandKind::Unknown:
    default:  // Those with a text are others'.
      command.kind = LockCommandKind::Unknown;
      break;
  }
  const bool names =
      command.kind == LockCommandKind::Acquire || command.kind == LockCommandKind::Release;
  if (names) {
    command.sequence = RequestSequence{entry.word[1]};
    command.acked_below = RequestSequence{entry.word[1] - acked};
    command.name_hash = NameHash{entry.word[3], entry.word[4]};
  } else if (command.kind == LockCommandKind::CancelWait ||
             command.kind == LockCommandKind::CloseSession) {
    command.sequence = RequestSequence{entry.word[1]};
  }
  if (command.kind != LockCommandKind::Unknown && is_plain_command(command)) {
    return command;
  }
  LockCommand unknown;
  unknown.kind = LockCommandKind::Unknown;
  return unknown;
}

// The fields that stand in an entry which is neither piece, barrier nor no-op.
GCOORD_HD inline LockCommand command_of(const LockEntry& entry) {
  return is_text_entry(entry) ? text_command_of(entry) : plain_command_of(entry);
}

// Puts the name of the acquire in `entry`, which is at `index`, together from the entries before
// it: log(k) is the entry at an earlier index. False: they are not all there.
template <typename Index, typename Log, typename Text>
GCOORD_HD bool gather_name(const Log& log, Index index, const LockEntry& entry, Text& name) {
  const PiecesBefore<Index> pieces{
      index,
      entry.request,
      piece_count(entry.number()),
      piece_mark(SessionId{entry.word[0]}, RequestSequence{entry.word[1]})};
  std::memcpy(name.bytes, &entry.word[5], kEntryNameBytes);
  return entry.number() <= kNameBytesMax &&
         gather_pieces(log, pieces, name.bytes + kEntryNameBytes);
}

// The command of `entry`, which is log(index), with all that it says; it is neither piece, barrier
// nor no-op. False: what stands before it is not all there, or cannot be, and it is applied as
// nothing. `bytes`, an EntryName or EntryBytes, outlives the command; a MoveIn whose text is longer
// than it is nothing. On a device `log` is copied where a text is read.
template <typename Index, typename Log, typename Text>
GCOORD_HD bool read_command(
    const Log& log, Index index, const LockEntry& entry, Text& bytes, LockCommand& command) {
  if (is_text_entry(entry)) {
    return read_text(log, index, bytes, command);
  }
  command = plain_command_of(entry);
  if (command.kind == LockCommandKind::Acquire) {
    command.name = bytes.bytes;
    return gather_name(log, index, entry, bytes);
  }
  return true;
}

// The entries of a command, pieces first. Asserts what decode() would reject and what does not fit.
std::vector<LockEntry> entries_of(const LockCommand& command);

LockEntry barrier_entry();

}  // namespace gcoord::locks
