// Beginning of a pruned cluster log, and the tree nodes kept below it: enough to prove all kept
// entries against every later root, and to serve their tiles.
//
// A tile of hashes has 256 of them (C2SP tlog-tiles) and goes when all its leaves are gone. So of
// each tile level what is left below the first leaf is the beginning of one tile: 255 hashes at the
// most. The peaks of the tree of `first` leaves follow from them (merkle_frontier.h).
//
//   magic u64, first u64, groups u32, of each group: count u32, hashes; CRC32C u32 of all before
//
// Little-endian, never to be renumbered. Plain functions; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/frontier.h"
#include "ledger/merkle/hash.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::ledger {

inline constexpr std::uint32_t kHorizonLevels = 8;  // Between tile levels.
inline constexpr std::size_t kHorizonGroupsMax = 7;

struct ClusterHorizon {
  std::uint64_t first = 0;  // A multiple of 256.
  // Of tile level g + 1: from the beginning of its tile in which `first` lies, up to `first`.
  std::vector<std::vector<MerkleHash>> groups;

  friend bool operator==(const ClusterHorizon& a, const ClusterHorizon& b) = default;
};

// How many hashes group g of a horizon at `first` has.
constexpr std::size_t horizon_count(std::uint64_t first, std::size_t g) {
  return static_cast<std::size_t>(first >> (kHorizonLevels * (g + 1)) & 255);
}

// Groups of a horizon at `first`.
constexpr std::size_t horizon_groups(std::uint64_t first) {
  std::size_t groups = 0;
  while (groups < kHorizonGroupsMax && first >> (kHorizonLevels * (groups + 1)) != 0) {
    ++groups;
  }
  return groups;
}

// Whether it has as many hashes as its first leaf says.
bool sane(const ClusterHorizon& horizon);

// Of the tree of `first` leaves. The horizon is sane.
MerkleFrontier frontier_of(const ClusterHorizon& horizon);

std::vector<std::byte> encode(const ClusterHorizon& horizon);
// nullopt: no horizon, or a damaged one.
std::optional<ClusterHorizon> decode_horizon(std::span<const std::byte> bytes);

}  // namespace gcoord::ledger
