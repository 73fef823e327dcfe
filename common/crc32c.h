// CRC32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720 appendix B.4), the checksum of
// frames and records.
//
// Debian 12 carries no C++ library for it (google/crc32c is absent, absl gained it later), so it is
// here: the SSE 4.2 instruction where the processor has it, a byte table elsewhere, with equal
// results. Host only; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord {

// The checksum of bytes that follow others: crc32c(b, crc32c(a)) == crc32c(a || b). Starts from 0.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t previous = 0);

// The same by table, whatever the processor offers; a test holds the two against each other.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t previous = 0);

}  // namespace gcoord
