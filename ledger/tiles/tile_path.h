// Paths of a log's tiles as in C2SP tlog-tiles.
//
//   tile/L/N          256 hashes: subtrees of 256^L leaves, from number N * 256 on
//   tile/entries/N    the entries whose hashes tile/0/N has
//   .p/W behind it    only the first W of them, 1 to 255: a tile at the right edge of a log
//
// L is 0 to 7 (of 64-bit sizes there are no more); N is in groups of three digits, all but the last
// with an x before it: 1234067 is x001/x234/067. A path has one spelling. Pure; thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::ledger {

inline constexpr std::uint32_t kTileWidth = 256;
inline constexpr std::uint32_t kTileHeight = 8;  // Levels of a tree in a tile: 2^8 is its width.
inline constexpr std::uint32_t kTileLevels = 8;

struct TilePath {
  enum class Kind : std::uint8_t { Hashes, Entries };

  Kind kind = Kind::Hashes;
  std::uint32_t level = 0;  // 0 for entries.
  std::uint64_t index = 0;
  std::uint32_t width = kTileWidth;  // 1 to 256.

  friend bool operator==(const TilePath&, const TilePath&) = default;
};

std::string to_string(const TilePath& path);

// kTilePath if this is not the path of any tile that a log of at most 2^64 - 1 entries can have.
Result<TilePath> parse_tile_path(std::string_view text);

}  // namespace gcoord::ledger
