#include "ledger/snapshot/frontier.h"

#include "common/assert.h"

#include <bit>

namespace gcoord::ledger {

Result<SnapshotFrontier> snapshot_frontier(const TreeReader& reader, std::uint64_t size) {
  if (size > reader.size()) {
    return Status{StatusCode::OutOfRange,
                  "the tree has fewer leaves than its log has applied entries"};
  }
  SnapshotFrontier frontier{.size = size};
  std::uint64_t covered = 0;
  while (covered < size) {
    const auto level = static_cast<std::uint32_t>(std::bit_width(size - covered) - 1);
    GCOORD_TRY(const auto peak, reader.hashes(level, covered >> level, 1));
    GCOORD_ASSERT(peak.size() == 1);
    frontier.peaks.push_back(peak.front());
    covered += std::uint64_t{1} << level;
  }
  return frontier;
}

}  // namespace gcoord::ledger
