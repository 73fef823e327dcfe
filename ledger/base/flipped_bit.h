// Search for the one flipped bit in a checksummed run of bytes.
//
// A CRC is linear: the right and the wrong checksum of bytes that differ in one bit differ by a
// value that depends only on how far from the end that bit is, and for CRC32C these values are
// distinct far beyond any length used here. Damage of more bits may look like one flipped bit
// elsewhere, so the answer is a hint for people, never a repair. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::ledger {

struct FlippedBit {
  std::uint64_t byte = 0;  // From the first byte.
  unsigned bit = 0;        // 0: the lowest.
};

// `stored` is the CRC32C as it was written, `found` that of the bytes as they are. Nothing when no
// flip of one bit among the bytes explains the difference. A few nanoseconds per bit.
std::optional<FlippedBit> find_flipped_bit(std::uint32_t stored,
                                           std::uint32_t found,
                                           std::uint64_t byte_count);

}  // namespace gcoord::ledger
