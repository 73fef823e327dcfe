// A part at the end of bytes that earlier releases wrote without it: the part, its length u32, and
// a mark u32.
//
// An empty part leaves the bytes as they were. The mark must be none that can stand at their end.
// Pure; thread-safe.
#pragma once

#include "common/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord {

struct MarkedPart {
  std::span<const std::byte> before;
  std::span<const std::byte> part;  // Empty: there is none.
};

// Ends the part that began at `begin`.
inline void end_marked_part(std::vector<std::byte>& bytes, std::size_t begin, std::uint32_t mark) {
  if (bytes.size() == begin) {
    return;
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - begin);
  ByteWriter writer{bytes};
  writer.integer(length);
  writer.integer(mark);
}

// Nothing for bytes with the mark and an impossible length.
inline std::optional<MarkedPart> split_marked_part(std::span<const std::byte> bytes,
                                                   std::uint32_t mark) {
  constexpr std::size_t kTailBytes = 8;
  if (bytes.size() < kTailBytes || load<std::uint32_t>(&bytes[bytes.size() - 4]) != mark) {
    return MarkedPart{bytes, {}};
  }
  const auto length = load<std::uint32_t>(&bytes[bytes.size() - kTailBytes]);
  const auto body = bytes.first(bytes.size() - kTailBytes);
  if (length == 0 || length > body.size()) {
    return std::nullopt;
  }
  return MarkedPart{body.first(body.size() - length), body.last(length)};
}

}  // namespace gcoord
