// A part at the end of bytes that earlier releases wrote without it: the part, its length u32, and
// a mark u32.
//
// An empty part leaves the bytes as they were. The mark is none that can stand at their end: as the
// length that stood there in earlier releases it is longer than any part.
// Pure; thread-safe.
#pragma once

#include "common/bytes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord {

// Whose part it is. Never renumber: they are in checkpoints and snapshots. No part ends with
// another one's mark: each is cut off by its own length first.
enum class PartMark : std::uint32_t {
  Access = 0xffff'4101,        // security/roles/part.h
  Limits = 0xffff'4c01,        // security/limits/part.h
  SessionNotes = 0xffff'4e01,  // server/audit/machine.h
  View = 0xffff'5601,          // membership/view/part.h
  Witness = 0xffff'5701,       // In place of a whole state: server/interfaces/witness_mark.h
};

struct MarkedPart {
  std::span<const std::byte> before;
  std::span<const std::byte> part;  // Empty: there is none.
};

// Ends the part that began at `begin`.
inline void end_marked_part(std::vector<std::byte>& bytes, std::size_t begin, PartMark mark) {
  if (bytes.size() == begin) {
    return;
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - begin);
  ByteWriter writer{bytes};
  writer.integer(length);
  writer.integer(static_cast<std::uint32_t>(mark));
}

// Nothing for bytes with the mark and an impossible length.
inline std::optional<MarkedPart> split_marked_part(std::span<const std::byte> bytes,
                                                   PartMark mark) {
  constexpr std::size_t kTailBytes = 8;
  if (bytes.size() < kTailBytes ||
      load<std::uint32_t>(&bytes[bytes.size() - 4]) != static_cast<std::uint32_t>(mark)) {
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
