// A log of numbered entries and the files of it, in memory, for tests that change bytes of them.
#pragma once

#include "ledger/base/error_details.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/tiles/tile_source.h"
#include "ledger/tiles/tlog_tiles.h"

#include <map>
#include <string>
#include <vector>

namespace gcoord::ledger {

inline std::vector<std::byte> numbered_entry(std::size_t index) {
  return std::vector<std::byte>(1 + index % 7, static_cast<std::byte>(index * 31));
}

// Files by their paths.
class MapTiles final : public TileSource {
 public:
  Result<std::vector<std::byte>> read(const std::string& path,
                                      std::size_t bytes_max) const override {
    const auto found = files.find(path);
    if (found == files.end()) {
      return Status{StatusCode::NotFound, path, kLedgerAbsent};
    }
    if (found->second.size() > bytes_max) {
      return Status{StatusCode::DataLoss, path, kLedgerOversized};
    }
    return found->second;
  }

  std::map<std::string, std::vector<std::byte>> files;
};

struct StoredLog {
  MemoryTree tree;
  MapTiles tiles;

  explicit StoredLog(std::size_t size) {
    for (std::size_t index = 0; index < size; ++index) {
      tree.append(numbered_entry(index));
    }
    store(TilePath::Kind::Entries, 0);
    for (std::uint32_t level = 0; level < kTileLevels; ++level) {
      store(TilePath::Kind::Hashes, level);
    }
  }

  MerkleHash root() const { return root_at(tree, tree.size()).value(); }

 private:
  void store(TilePath::Kind kind, std::uint32_t level) {
    const std::uint64_t hashes = tree.size() >> (level * kTileHeight);
    for (std::uint64_t index = 0; index * kTileWidth < hashes; ++index) {
      const std::uint64_t left = hashes - index * kTileWidth;
      const auto width = static_cast<std::uint32_t>(left < kTileWidth ? left : kTileWidth);
      const TilePath path{kind, level, index, width};
      tiles.files[to_string(path)] = tile_at(tree, path).value();
    }
  }
};

}  // namespace gcoord::ledger
