// Payloads of the requests for a snapshot (ledger/snapshot/format.h says what the bytes are).
//
// A save is read piece by piece by whoever opened it: SnapshotOpen gives it a number, SnapshotRead
// asks for the bytes from an offset on, which is where the newest piece began or ended. So a piece
// that was lost on its way is asked for again, and a node holds one piece per save.
// Pure functions; thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::protocol {

// The most that one answer carries: eight saves fit what a connection may have unsent.
inline constexpr std::size_t kSnapshotPieceBytesMax = std::size_t{512} << 10;

struct SnapshotRead {
  std::uint64_t save = 0;
  std::uint64_t offset = 0;  // In the file.
};

std::vector<std::byte> encode_snapshot_read(const SnapshotRead& read);
Result<SnapshotRead> decode_snapshot_read(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
