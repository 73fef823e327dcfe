// Records of a node's other services as log entries on a device (docs/adr/0131).
//
// A record is bytes of which a device knows nothing: the cluster view, users and roles, limits, and
// notes of sessions are decided by the order of its log, and their state is its host's. All of a
// record stands in pieces, as a name does, and right behind them its entry:
//
//   record    head: kind kEntryRecord, number: bytes of the record; words: CRC32C of the bytes,
//   0... piece     words: the record's mark, then 40 of its bytes
//
// Tables of locks and their state hash stay as they are; a device reads no piece of it, so a record
// may have more of them than a name. One that does not stand there whole is nothing, as a command
// whose pieces are missing. Plain functions, thread-safe; host only.
#pragma once

#include "locks/commands/entry_layout.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::locks {

// The longest record, and its pieces. Such a record and what is under way beside it have to fit
// what a leader may have in its log before it is decided.
inline constexpr std::uint32_t kEntryRecordBytesMax = 2048;
inline constexpr std::uint32_t kRecordPiecesMax =
    (kEntryRecordBytesMax + kPieceNameBytes - 1) / kPieceNameBytes;

static_assert(kRecordPiecesMax >= kPiecesMax);

// Pieces first. Of 1 to kEntryRecordBytesMax bytes; else it asserts.
std::vector<LockEntry> record_entries(std::span<const std::byte> record);

// The record of `entry`, of kind kEntryRecord, in front of which `pieces` stand in the log's order,
// more than its own maybe; nothing where they are not all there, or say something else.
std::optional<std::vector<std::byte>> record_of(std::span<const LockEntry> pieces,
                                                const LockEntry& entry);

}  // namespace gcoord::locks
