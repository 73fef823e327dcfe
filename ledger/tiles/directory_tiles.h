// The files of a log that lie in a directory, as `gcoordctl ledger export` writes them.
// Thread-safe.
#pragma once

#include "ledger/tiles/tile_source.h"

#include <string>

namespace gcoord::ledger {

class DirectoryTiles final : public TileSource {
 public:
  explicit DirectoryTiles(std::string directory) : directory_(std::move(directory)) {}

  Result<std::vector<std::byte>> read(const std::string& path,
                                      std::size_t bytes_max) const override;

 private:
  std::string directory_;
};

}  // namespace gcoord::ledger
