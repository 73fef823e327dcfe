// A ring in memory of its own, for tests of both ends. Host and device.
#pragma once

#include "netcore/client_ring/byte_ring.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::netcore {

inline constexpr std::uint32_t kSampleCapacity = kRingBytesMin;

struct SampleRing {
  ClientRingWords words;
  alignas(kRingLineBytes) std::byte bytes[kSampleCapacity] = {};

  GCOORD_HD ClientRingView view() { return {&words, bytes, kSampleCapacity}; }
};

// Byte `index` of a stream that both sides know.
GCOORD_HD constexpr std::byte sample_byte(std::uint64_t index) {
  return static_cast<std::byte>((index * 2654435761u) >> 24 & 0xff);
}

}  // namespace gcoord::netcore
