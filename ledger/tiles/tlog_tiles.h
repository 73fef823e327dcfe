// Tiles and entry bundles: how a log lies in files (C2SP tlog-tiles), so that tools of
// transparency logs read it.
//
//   tile           its hashes, 32 bytes each, one after the other
//   entry bundle   its entries, each behind its length, 2 bytes, the high one first
//
// Pure functions of bytes and of what a TreeReader shows; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/tiles/tile_path.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::ledger {

inline constexpr std::size_t kBundleEntryBytesMax = 65535;  // As much as a length can say.
inline constexpr std::size_t kTileBytesMax = kTileWidth * kMerkleHashBytes;
inline constexpr std::size_t kBundleBytesMax = kTileWidth * (2 + kBundleEntryBytesMax);

// The most bytes that there can be at a path.
std::size_t tile_bytes_max(const TilePath& path);

// What lies at a path of the log: a tile or a bundle. kLedgerBeyond if the log is not that large,
// kBundleMalformed if an entry is larger than bundles allow; else what the reader answers.
Result<std::vector<std::byte>> tile_at(const TreeReader& reader, const TilePath& path);

// The `width` hashes of a tile; kTileLength if it is not that wide.
Result<std::vector<MerkleHash>> decode_tile(std::span<const std::byte> bytes, std::uint32_t width);

// kBundleMalformed (InvalidArgument) if an entry is too large.
Result<std::vector<std::byte>> encode_bundle(std::span<const std::vector<std::byte>> entries);

// The `width` entries of a bundle; kBundleMalformed, with the entry that is cut or the bytes that
// are left, if it is none.
Result<std::vector<std::vector<std::byte>>> decode_bundle(std::span<const std::byte> bytes,
                                                          std::uint32_t width);

// The root of a perfect subtree from the hashes on one level of it; their count is a power of two.
MerkleHash join_hashes(std::vector<MerkleHash> hashes);

}  // namespace gcoord::ledger
