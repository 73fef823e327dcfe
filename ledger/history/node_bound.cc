#include "ledger/history/node_bound.h"

#include <algorithm>
#include <vector>

namespace gcoord::ledger {

std::uint64_t share_of_each(const NodeBytes& bytes, std::uint64_t bytes_max) {
  if (bytes.total <= bytes_max) {
    return 0;
  }
  std::vector<std::uint64_t> bytes_of_shard(bytes.shard_count);
  for (std::uint32_t shard = 0; shard < bytes.shard_count; ++shard) {
    bytes_of_shard[shard] = bytes.of(ShardId{shard});
  }
  std::sort(bytes_of_shard.begin(), bytes_of_shard.end());
  std::uint64_t left_bytes = bytes_max;
  std::uint64_t left_count = bytes_of_shard.size();
  for (const std::uint64_t each : bytes_of_shard) {
    const std::uint64_t share = left_bytes / left_count;
    if (each > share) {
      return std::max<std::uint64_t>(share, 1);
    }
    left_bytes -= each;
    --left_count;
  }
  return 0;
}

}  // namespace gcoord::ledger
