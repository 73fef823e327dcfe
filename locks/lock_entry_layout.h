// The words of a log entry on a device, and the pieces that stand before one.
//
// An entry is a head of 4 bytes (kind 1, flags 1, and a number 2) and six words; what the words
// mean depends on the kind (lock_entry.h, lock_entry_text.h). Bytes for which a command's entry has
// no room stand in pieces, 40 each, right before it. Plain; host and device.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "locks/lock_command.h"

#include <cstdint>

namespace gcoord::locks {

// Kinds of entries beside LockCommandKind's. Never renumber: they are in logs.
inline constexpr std::uint8_t kEntryPiece = 240;    // Bytes of a name or a text.
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

}  // namespace gcoord::locks
