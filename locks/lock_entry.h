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
// What does not come from a command of ours may say anything: command_of() gives Unknown for what
// cannot be. Plain functions, host and device, but for entries_of() and
// barrier_entry(), which are the host's.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "locks/lock_break_wait.h"
#include "locks/lock_command.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace gcoord::locks {

// Kinds of entries beside LockCommandKind's. Never renumber: they are in logs.
inline constexpr std::uint8_t kEntryPiece = 240;    // Bytes of a name.
inline constexpr std::uint8_t kEntryBarrier = 241;  // Nothing happens; its turn is what is wanted.
// Nothing to locks: whoever keeps the log says by it who keeps it. The words are its own.
inline constexpr std::uint8_t kEntryConfiguration = 242;

struct alignas(64) LockEntry {
  std::uint32_t head = 0;
  std::uint32_t reserved = 0;
  std::uint64_t word[6]{};
  std::uint64_t padding = 0;

  GCOORD_HD std::uint8_t kind() const { return static_cast<std::uint8_t>(head & 0xffu); }

  // Of a piece: which it is, from 0. Of an acquire: the bytes of its name.
  GCOORD_HD std::uint32_t number() const { return head >> 16; }
};

static_assert(sizeof(LockEntry) == 64);

inline constexpr std::uint32_t kEntryNameBytes = 8;   // Of a name, in its command's entry.
inline constexpr std::uint32_t kPieceNameBytes = 40;  // In a piece.

GCOORD_HD constexpr std::uint32_t piece_count(std::uint32_t name_bytes) {
  return name_bytes <= kEntryNameBytes
             ? 0
             : (name_bytes - kEntryNameBytes + kPieceNameBytes - 1) / kPieceNameBytes;
}

// Pieces of the longest name.
inline constexpr std::uint32_t kPiecesMax =
    (kNameBytesMax - kEntryNameBytes + kPieceNameBytes - 1) / kPieceNameBytes;

// Which command a piece belongs to. Another attempt at the same command has the same name.
GCOORD_HD constexpr std::uint64_t piece_mark(SessionId session, RequestSequence sequence) {
  return mix64(session.value ^ mix64(sequence.value + 1));
}

// The name of one acquire, put together.
struct EntryName {
  char bytes[kEntryNameBytes + kPiecesMax * kPieceNameBytes];
};

// What decode() refuses, but for the name's bytes (lock_command.h).
GCOORD_HD inline bool is_entry_command(const LockCommand& command) {
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
  bool sane = !changes_office(command.kind) && (command.flags & ~flags) == 0 &&
              command.session.value != 0 && (!sequenced || command.sequence.value != 0);
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

// The command of an entry that is neither piece, barrier nor no-op. Its name is not set.
GCOORD_HD inline LockCommand command_of(const LockEntry& entry) {
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
    case LockCommandKind::Proclaim:  // Their notes and sessions have no room in an entry.
    case LockCommandKind::Transfer:
    case LockCommandKind::ExpireSessions:
    default:
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
  if (command.kind != LockCommandKind::Unknown && is_entry_command(command)) {
    return command;
  }
  LockCommand unknown;
  unknown.kind = LockCommandKind::Unknown;
  return unknown;
}

// Puts the name of the acquire in `entry`, which is at `index`, together from the entries before
// it: log(k) is the entry at an earlier index. False: they are not all there.
template <typename Index, typename Log>
GCOORD_HD bool gather_name(const Log& log, Index index, const LockEntry& entry, EntryName& name) {
  const std::uint32_t name_bytes = entry.number();
  const std::uint32_t pieces = piece_count(name_bytes);
  const std::uint64_t mark = piece_mark(SessionId{entry.word[0]}, RequestSequence{entry.word[1]});
  std::memcpy(name.bytes, &entry.word[5], kEntryNameBytes);
  if (name_bytes > kNameBytesMax || index.value <= pieces) {
    return false;
  }
  for (std::uint32_t k = 0; k < pieces; ++k) {
    const LockEntry piece = log(Index{index.value - pieces + k});
    if (piece.kind() != kEntryPiece || piece.number() != k || piece.word[0] != mark) {
      return false;
    }
    std::memcpy(
        name.bytes + kEntryNameBytes + k * kPieceNameBytes, &piece.word[1], kPieceNameBytes);
  }
  return true;
}

// The entries of a command, pieces first. Asserts what decode() would reject.
std::vector<LockEntry> entries_of(const LockCommand& command);

LockEntry barrier_entry();

}  // namespace gcoord::locks
