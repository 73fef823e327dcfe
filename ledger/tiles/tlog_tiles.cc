#include "ledger/tiles/tlog_tiles.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr std::size_t kLengthBytes = 2;

Status malformed(const std::string& why) {
  return Status{StatusCode::DataLoss, why, kBundleMalformed};
}

}  // namespace

std::size_t tile_bytes_max(const TilePath& path) {
  return path.kind == TilePath::Kind::Hashes ? path.width * kMerkleHashBytes
                                             : path.width * (kLengthBytes + kBundleEntryBytesMax);
}

Result<std::vector<std::byte>> tile_at(const TreeReader& reader, const TilePath& path) {
  GCOORD_ASSERT(path.width >= 1 && path.width <= kTileWidth && path.level < kTileLevels);
  const std::uint32_t level = path.level * kTileHeight;
  const std::uint64_t there = reader.size() >> level;
  const std::uint64_t begin = path.index * kTileWidth;
  if (begin > there || path.width > there - begin) {
    return Status{
        StatusCode::InvalidArgument,
        "the log has " + std::to_string(reader.size()) + " entries, too few for " + to_string(path),
        kLedgerBeyond};
  }
  if (path.kind == TilePath::Kind::Entries) {
    GCOORD_TRY(const auto entries, reader.entries(begin, path.width));
    return encode_bundle(entries);
  }
  GCOORD_TRY(const std::vector<MerkleHash> hashes, reader.hashes(level, begin, path.width));
  GCOORD_ASSERT(hashes.size() == path.width);
  const auto bytes = std::as_bytes(std::span(hashes));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<std::vector<MerkleHash>> decode_tile(std::span<const std::byte> bytes, std::uint32_t width) {
  if (bytes.size() != width * kMerkleHashBytes) {
    return Status{StatusCode::DataLoss,
                  "the tile has " + std::to_string(bytes.size()) + " bytes, not " +
                      std::to_string(width * kMerkleHashBytes),
                  kTileLength};
  }
  std::vector<MerkleHash> hashes(width);
  if (width != 0) {
    std::memcpy(hashes.data(), bytes.data(), bytes.size());
  }
  return hashes;
}

Result<std::vector<std::byte>> encode_bundle(std::span<const std::vector<std::byte>> entries) {
  std::vector<std::byte> bytes;
  for (const std::vector<std::byte>& entry : entries) {
    if (entry.size() > kBundleEntryBytesMax) {
      return Status{
          StatusCode::InvalidArgument,
          "an entry of " + std::to_string(entry.size()) + " bytes does not fit into a bundle",
          kBundleMalformed};
    }
    bytes.push_back(static_cast<std::byte>(entry.size() >> 8));
    bytes.push_back(static_cast<std::byte>(entry.size()));
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  }
  return bytes;
}

Result<std::vector<std::vector<std::byte>>> decode_bundle(std::span<const std::byte> bytes,
                                                          std::uint32_t width) {
  std::vector<std::vector<std::byte>> entries;
  while (entries.size() < width) {
    const std::string place = "entry " + std::to_string(entries.size()) + " of the bundle";
    if (bytes.size() < kLengthBytes) {
      return malformed(place + " is missing");
    }
    const std::size_t length =
        std::to_integer<std::size_t>(bytes[0]) << 8 | std::to_integer<std::size_t>(bytes[1]);
    bytes = bytes.subspan(kLengthBytes);
    if (bytes.size() < length) {
      return malformed(place + " is cut: " + std::to_string(bytes.size()) + " bytes of " +
                       std::to_string(length));
    }
    entries.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    bytes = bytes.subspan(length);
  }
  if (!bytes.empty()) {
    return malformed(std::to_string(bytes.size()) + " bytes are left behind the last entry");
  }
  return entries;
}

MerkleHash join_hashes(std::vector<MerkleHash> hashes) {
  GCOORD_ASSERT(std::has_single_bit(hashes.size()));
  for (std::size_t count = hashes.size() / 2; count != 0; count /= 2) {
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_node(hashes[2 * i], hashes[2 * i + 1]);
    }
  }
  return hashes.front();
}

}  // namespace gcoord::ledger
