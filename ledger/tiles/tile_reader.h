// A log seen through its files, none of which is trusted: whatever is read is checked against a
// root that is known.
//
// The hashes at the right edge of a tree lead to its root (they are what the root is made of); a
// full tile leads to one hash of the tile above it; an entry to one hash of its tile. So every
// answer is checked, up to the root, before it is given, and what does not fit is named: the tile
// (kTileHash), the entry (kEntryHash). In a log with entries to hide, one that the source hides
// comes as its stand-in (hidden_entry.h), whose hash is checked; in others that is a wrong entry.
// Failures of the source pass through. Tiles that were checked are kept, up to kTilesKept.
// Thread-safe.
#pragma once

#include "ledger/merkle/tree_reader.h"
#include "ledger/tiles/tile_path.h"
#include "ledger/tiles/tile_source.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gcoord::ledger {

class TileReader final : public TreeReader {
 public:
  // Tiles kept in memory: 8 KiB each, so 8 MiB at most. A walk over a log needs one per level.
  static constexpr std::size_t kTilesKept = 1024;

  // The tree of that size and root. Reads the tiles at its right edge; kTileHash if they do not
  // lead to the root. The source outlives the reader.
  static Result<std::unique_ptr<TileReader>> open(const TileSource& source,
                                                  std::uint64_t size,
                                                  const MerkleHash& root);

  // This is a log whose sources may hide entries. Before the first entry is read.
  void take_stand_ins() { takes_stand_ins_ = true; }

  std::uint64_t size() const override { return size_; }

  // A source does not say where its entries begin: entries() does.
  std::uint64_t first() const override { return 0; }

  Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                         std::uint64_t index,
                                         std::size_t count) const override;
  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override;

  // A bundle as it is there, and what of it is not what was hashed. Numbers of entries of the log,
  // rising.
  struct Bundle {
    std::vector<std::vector<std::byte>> entries;
    std::vector<std::uint64_t> wrong;
    std::vector<std::uint64_t> hidden;  // The source gives a stand-in with the right hash.
  };

  Result<Bundle> bundle(std::uint64_t tile_index) const;

  // The path of the tile of a level that has hash `index` of it, as wide as this tree makes it.
  TilePath path_of(TilePath::Kind kind, std::uint32_t tile_level, std::uint64_t tile_index) const;

 private:
  using Tile = std::shared_ptr<const std::vector<MerkleHash>>;

  TileReader(const TileSource& source, std::uint64_t size) : source_(source), size_(size) {}

  Result<Tile> read_tile(const TilePath& path) const;
  Result<Tile> checked_tile(std::uint32_t tile_level, std::uint64_t tile_index) const;
  Tile kept(const TilePath& path) const;
  void keep(const TilePath& path, const Tile& tile) const;
  Result<MerkleHash> one_hash(std::uint32_t level, std::uint64_t index) const;
  Result<std::vector<std::vector<std::byte>>> read_bundle(std::uint64_t tile_index) const;

  const TileSource& source_;
  const std::uint64_t size_;
  bool takes_stand_ins_ = false;
  std::map<std::uint32_t, Tile> edge_;  // By tile level; constant once open.
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::uint32_t, std::uint64_t>, Tile> kept_;
};

}  // namespace gcoord::ledger
