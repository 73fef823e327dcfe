// The words of a log entry on a device, and the pieces that stand before one.
//
// An entry is a head of 4 bytes (kind 1, flags 1, and a number 2) and six words; what the words
// mean depends on the kind (lock_entry.h, lock_entry_text.h). Bytes for which a command's entry has
// no room stand in pieces, 40 each, right before it. Plain; host and device.
//
// Pieces alone do not say which attempt at a command they are of: a log that is full takes some of
// an attempt and refuses the rest, and the rest of the next one may follow. So an entry says as
// which request its leader's host asked for it, and those of one command have numbers in a row.
#pragma once

#include "common/hd.h"
#include "common/random.h"
#include "locks/commands/command.h"

#include <cstdint>
#include <cstring>

namespace gcoord::locks {

// Kinds of entries beside LockCommandKind's. Never renumber: they are in logs.
inline constexpr std::uint8_t kEntryPiece = 240;    // Bytes of a name or a text.
inline constexpr std::uint8_t kEntryBarrier = 241;  // Nothing happens; its turn is what is wanted.
// Nothing to locks: whoever keeps the log says by it who keeps it. The words are its own.
inline constexpr std::uint8_t kEntryConfiguration = 242;
// Nothing to locks: what other services of the node decide, for its host (entry_record.h).
inline constexpr std::uint8_t kEntryRecord = 243;

// Whether tables of locks stay as they are, whatever the entry says; 0 is a no-op.
GCOORD_HD constexpr bool is_nothing_to_locks(std::uint8_t kind) {
  return kind == 0 || kind == kEntryPiece || kind == kEntryBarrier || kind == kEntryConfiguration ||
         kind == kEntryRecord;
}

struct alignas(64) LockEntry {
  std::uint32_t head = 0;
  std::uint32_t reserved = 0;
  std::uint64_t word[6]{};
  // Unique among what one leader takes in one term; 0: of a release that did not say.
  std::uint64_t request = 0;

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

// Which command a piece belongs to.
GCOORD_HD constexpr std::uint64_t piece_mark(SessionId session, RequestSequence sequence) {
  return mix64(session.value ^ mix64(sequence.value + 1));
}

// The name of one acquire, put together.
struct EntryName {
  char bytes[kEntryNameBytes + kPiecesMax * kPieceNameBytes];
};

// The pieces before a command's entry.
template <typename Index>
struct PiecesBefore {
  Index index;                // Of the command's entry,
  std::uint64_t request = 0;  // and its request.
  std::uint32_t count = 0;
  std::uint64_t mark = 0;

  GCOORD_HD bool has(const LockEntry& piece, std::uint32_t k) const {
    return piece.kind() == kEntryPiece && piece.number() == k && piece.word[0] == mark &&
           piece.request == (request == 0 ? 0 : request - (count - k));
  }
};

// Copies what pieces say to `bytes`: log(k) is the entry at an earlier index. False: they are not
// all there.
template <typename Index, typename Log>
GCOORD_HD bool gather_pieces(const Log& log, const PiecesBefore<Index>& pieces, char* bytes) {
  if (pieces.index.value <= pieces.count) {
    return false;
  }
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t k = 0; k < pieces.count; ++k) {
    const LockEntry piece = log(Index{pieces.index.value - pieces.count + k});
    if (!pieces.has(piece, k)) {
      return false;
    }
    std::memcpy(bytes + k * kPieceNameBytes, &piece.word[1], kPieceNameBytes);
  }
  return true;
}

}  // namespace gcoord::locks
