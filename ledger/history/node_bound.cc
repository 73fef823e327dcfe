#include "ledger/history/node_bound.h"

#include <algorithm>

namespace gcoord::ledger {

std::uint64_t share_of_each(std::vector<std::uint64_t> bytes_of_shard, std::uint64_t bytes_max) {
  std::sort(bytes_of_shard.begin(), bytes_of_shard.end());
  std::uint64_t left_bytes = bytes_max;
  std::uint64_t left_count = bytes_of_shard.size();
  for (const std::uint64_t bytes : bytes_of_shard) {
    const std::uint64_t share = left_bytes / left_count;
    if (bytes > share) {
      return std::max<std::uint64_t>(share, 1);
    }
    left_bytes -= bytes;
    --left_count;
  }
  return 0;
}

}  // namespace gcoord::ledger
