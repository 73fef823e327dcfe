// Source of a log's tlog-tiles files: a directory, a node (http_tiles.h), a test.
//
// What comes from a source is not trusted; tile_reader.h checks it. Implementations are
// thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gcoord::ledger {

class TileSource {
 public:
  virtual ~TileSource() = default;

  // The file at a path below the log's own, for example "checkpoint" or "tile/0/000". kLedgerAbsent
  // if there is none, kLedgerPruned if there was one, kLedgerOversized if it has more than
  // `bytes_max` bytes, kLedgerUnreachable if it cannot be read now.
  virtual Result<std::vector<std::byte>> read(const std::string& path,
                                              std::size_t bytes_max) const = 0;
};

}  // namespace gcoord::ledger
