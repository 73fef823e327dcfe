// Faults of one direction of a link between two nodes. Plain values.
#pragma once

#include <array>
#include <cstdint>

namespace gcoord::chaos {

// Shares are of frames, in thousandths. Zeros are a perfect link.
struct LinkFault {
  bool cut = false;      // Nothing arrives; what was sent comes late, as TCP would bring it.
  bool stalled = false;  // The window stays closed: the sender is not read.
  std::uint32_t delay_us = 0;
  std::uint32_t jitter_us = 0;
  std::uint32_t drop = 0;
  std::uint32_t duplicate = 0;
  std::uint32_t reorder = 0;
  std::uint32_t corrupt = 0;  // One bit flips.
};

// Frames that a proxy did something to.
struct LinkCounts {
  std::uint64_t passed = 0;
  std::uint64_t held = 0;  // Waited out a cut.
  std::uint64_t delayed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t stalls = 0;  // Times that a sender's bytes were left where they were.
};

}  // namespace gcoord::chaos
