// Copies between any memory of the host and a device, in pieces through memory that is page-locked.
//
// A runtime copies pageable memory within its call, through memory of its own, and may return from
// that only when the device has done its part: of a device that is dead, never. So whoever must not
// wait without a limit gives it page-locked memory alone, and waits for each piece himself
// (device_wait.h). The owner has that memory from the start, so that no copy reserves any. Knows no
// device: host only; one thread.
#pragma once

#include "common/assert.h"
#include "common/status.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace gcoord {

// Of one piece: what goes over in some forty microseconds, beside which the wait for it is short.
inline constexpr std::size_t kCopyStagingBytes = std::size_t{1} << 20;

class StagedCopy {
 public:
  // `staging` is page-locked and outlives this; of any size but none.
  explicit StagedCopy(std::span<std::byte> staging) : staging_(staging) {
    GCOORD_ASSERT(!staging.empty());
  }

  // Into device memory. `copy(to, from, bytes)` copies one piece and returns when it is there.
  // After its first error nothing more is copied: the device may be reading the piece still.
  template <typename Copy>
  Status write(void* to, const void* from, std::size_t bytes, const Copy& copy) const {
    return each_piece(bytes, [&](std::size_t offset, std::size_t piece) {
      std::memcpy(staging_.data(), static_cast<const std::byte*>(from) + offset, piece);
      return copy(static_cast<std::byte*>(to) + offset, staging_.data(), piece);
    });
  }

  // Out of device memory.
  template <typename Copy>
  Status read(void* to, const void* from, std::size_t bytes, const Copy& copy) const {
    return each_piece(bytes, [&](std::size_t offset, std::size_t piece) {
      GCOORD_TRY_STATUS(copy(staging_.data(), static_cast<const std::byte*>(from) + offset, piece));
      std::memcpy(static_cast<std::byte*>(to) + offset, staging_.data(), piece);
      return Status{};
    });
  }

 private:
  template <typename Piece>
  Status each_piece(std::size_t bytes, const Piece& piece) const {
    for (std::size_t offset = 0; offset < bytes; offset += staging_.size()) {
      GCOORD_TRY_STATUS(piece(offset, std::min(staging_.size(), bytes - offset)));
    }
    return {};
  }

  std::span<std::byte> staging_;
};

}  // namespace gcoord
