#include "ledger/tiles/tile_reader.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/tiles/hidden_entry.h"
#include "ledger/tiles/tlog_tiles.h"

#include <algorithm>
#include <string>

namespace gcoord::ledger {
namespace {

// The file at the path, or the full tile's if the source has dropped the partial one since it
// filled up.
Result<std::vector<std::byte>> read_at_least(const TileSource& source,
                                             const TilePath& path,
                                             std::uint32_t& width) {
  width = path.width;
  auto bytes = source.read(to_string(path), tile_bytes_max(path));
  if (bytes.ok() || path.width == kTileWidth || bytes.status().detail() != kLedgerAbsent) {
    return bytes;
  }
  TilePath full = path;
  full.width = width = kTileWidth;
  auto wider = source.read(to_string(full), tile_bytes_max(full));
  return wider.ok() || wider.status().detail() != kLedgerAbsent ? std::move(wider)
                                                                : std::move(bytes);
}

// A failure with the path of what it is about.
Status at_path(const TilePath& path, const Status& status) {
  return Status{status.code(), to_string(path) + ": " + status.message(), status.detail()};
}

Status beyond(std::uint64_t index, std::size_t count) {
  return Status{
      StatusCode::InvalidArgument,
      "the log has no " + std::to_string(count) + " of these from " + std::to_string(index) + " on",
      kLedgerBeyond};
}

bool within(std::uint64_t index, std::size_t count, std::uint64_t size) {
  return index <= size && count <= size - index;
}

}  // namespace

Result<std::unique_ptr<TileReader>> TileReader::open(const TileSource& source,
                                                     std::uint64_t size,
                                                     const MerkleHash& root) {
  std::unique_ptr<TileReader> reader{new TileReader(source, size)};
  std::string edge;
  for (std::uint32_t level = 0; level < kTileLevels && size >> (level * kTileHeight) != 0;
       ++level) {
    const std::uint64_t hashes = size >> (level * kTileHeight);
    if (hashes % kTileWidth != 0) {
      const TilePath path = reader->path_of(TilePath::Kind::Hashes, level, hashes / kTileWidth);
      GCOORD_TRY(reader->edge_[level], reader->read_tile(path));
      edge += (edge.empty() ? "" : ", ") + to_string(path);
    }
  }
  GCOORD_TRY(const MerkleHash found, root_at(*reader, size));
  if (found != root) {
    return Status{StatusCode::DataLoss,
                  "the tiles at the edge of " + std::to_string(size) +
                      " entries do not lead to the root: " + (edge.empty() ? "none" : edge),
                  kTileHash};
  }
  return reader;
}

TilePath TileReader::path_of(TilePath::Kind kind,
                             std::uint32_t tile_level,
                             std::uint64_t tile_index) const {
  const std::uint64_t hashes = size_ >> (tile_level * kTileHeight);
  const std::uint64_t left = hashes - tile_index * kTileWidth;
  return {kind,
          tile_level,
          tile_index,
          static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kTileWidth))};
}

Result<TileReader::Tile> TileReader::read_tile(const TilePath& path) const {
  std::uint32_t width = 0;
  const auto bytes = read_at_least(source_, path, width);
  if (!bytes.ok()) {
    return at_path(path, bytes.status());
  }
  auto hashes = decode_tile(bytes.value(), width);
  if (!hashes.ok()) {
    return at_path(path, hashes.status());
  }
  hashes.value().resize(path.width);
  return Tile{std::make_shared<const std::vector<MerkleHash>>(std::move(hashes).value())};
}

TileReader::Tile TileReader::kept(const TilePath& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find({path.level, path.index});
  return found == kept_.end() ? nullptr : found->second;
}

void TileReader::keep(const TilePath& path, const Tile& tile) const {
  const std::lock_guard lock(mutex_);
  if (kept_.size() >= kTilesKept) {
    kept_.erase(kept_.begin());  // The lowest level, the furthest left: a walk comes from there.
  }
  kept_[{path.level, path.index}] = tile;
}

Result<TileReader::Tile> TileReader::checked_tile(std::uint32_t tile_level,
                                                  std::uint64_t tile_index) const {
  const TilePath path = path_of(TilePath::Kind::Hashes, tile_level, tile_index);
  if (path.width != kTileWidth) {
    return edge_.at(tile_level);
  }
  if (const Tile tile = kept(path); tile != nullptr) {
    return tile;
  }
  GCOORD_TRY(const Tile tile, read_tile(path));
  // Of a full tile the hash above exists, so this ends at the edge at the latest.
  GCOORD_TRY(const Tile above, checked_tile(tile_level + 1, tile_index / kTileWidth));
  if (join_hashes(*tile) != above->at(tile_index % kTileWidth)) {
    return Status{StatusCode::DataLoss,
                  to_string(path) + " does not lead to hash " +
                      std::to_string(tile_index % kTileWidth) + " of the tile above it",
                  kTileHash};
  }
  keep(path, tile);
  return tile;
}

Result<MerkleHash> TileReader::one_hash(std::uint32_t level, std::uint64_t index) const {
  const std::uint32_t tile_level = level / kTileHeight;
  const std::uint32_t rise = level % kTileHeight;  // Above the tile's own hashes.
  const std::uint64_t begin = index << rise;
  GCOORD_TRY(const Tile tile, checked_tile(tile_level, begin / kTileWidth));
  const auto from = tile->begin() + static_cast<std::ptrdiff_t>(begin % kTileWidth);
  return join_hashes({from, from + (std::ptrdiff_t{1} << rise)});
}

Result<std::vector<MerkleHash>> TileReader::hashes(std::uint32_t level,
                                                   std::uint64_t index,
                                                   std::size_t count) const {
  if (level >= kTileLevels * kTileHeight || !within(index, count, size_ >> level)) {
    return beyond(index, count);
  }
  std::vector<MerkleHash> found;
  for (std::uint64_t each = index; each != index + count; ++each) {
    GCOORD_TRY(const MerkleHash hash, one_hash(level, each));
    found.push_back(hash);
  }
  return found;
}

Result<std::vector<std::vector<std::byte>>> TileReader::read_bundle(
    std::uint64_t tile_index) const {
  const TilePath path = path_of(TilePath::Kind::Entries, 0, tile_index);
  std::uint32_t width = 0;
  const auto bytes = read_at_least(source_, path, width);
  if (!bytes.ok()) {
    return at_path(path, bytes.status());
  }
  auto entries = decode_bundle(bytes.value(), width);
  if (!entries.ok()) {
    return at_path(path, entries.status());
  }
  entries.value().resize(path.width);
  return entries;
}

Result<TileReader::Bundle> TileReader::bundle(std::uint64_t tile_index) const {
  const std::uint64_t tiles = size_ / kTileWidth + (size_ % kTileWidth != 0 ? 1 : 0);
  if (tile_index >= tiles) {
    return beyond(tile_index, 1);
  }
  GCOORD_TRY(auto entries, read_bundle(tile_index));
  GCOORD_TRY(const Tile leaves, checked_tile(0, tile_index));
  Bundle bundle{.entries = std::move(entries), .wrong = {}, .hidden = {}};
  for (std::size_t i = 0; i < bundle.entries.size(); ++i) {
    const EntryMatch match = match_entry(bundle.entries[i], leaves->at(i));
    if (match != EntryMatch::Whole) {
      const bool hidden = match == EntryMatch::Hidden && takes_stand_ins_;
      (hidden ? bundle.hidden : bundle.wrong).push_back(tile_index * kTileWidth + i);
    }
  }
  return bundle;
}

Result<std::vector<std::vector<std::byte>>> TileReader::entries(std::uint64_t index,
                                                                std::size_t count) const {
  if (!within(index, count, size_)) {
    return beyond(index, count);
  }
  std::vector<std::vector<std::byte>> found;
  const std::uint64_t end = index + count;
  for (std::uint64_t tile = index / kTileWidth; tile * kTileWidth < end; ++tile) {
    GCOORD_TRY(Bundle read, bundle(tile));
    if (!read.wrong.empty()) {
      return Status{StatusCode::DataLoss,
                    "entry " + std::to_string(read.wrong.front()) + " in " +
                        to_string(path_of(TilePath::Kind::Entries, 0, tile)) +
                        " is not the one that was hashed",
                    kEntryHash};
    }
    const std::uint64_t base = tile * kTileWidth;
    const std::uint64_t to = std::min(end, base + read.entries.size());
    for (std::uint64_t each = std::max(index, base); each < to; ++each) {
      found.push_back(std::move(read.entries[each - base]));
    }
  }
  GCOORD_ASSERT(found.size() == count);
  return found;
}

}  // namespace gcoord::ledger
