#include "ledger/merkle/frontier_growth.h"

#include "common/assert.h"

#include <bit>

namespace gcoord::ledger {

void append_leaf(MerkleFrontier& frontier, const MerkleHash& leaf) {
  MerkleHash hash = leaf;
  for (std::uint64_t carry = frontier.size; (carry & 1u) != 0; carry >>= 1u) {
    hash = hash_node(frontier.peaks.back(), hash);
    frontier.peaks.pop_back();
  }
  frontier.peaks.push_back(hash);
  ++frontier.size;
  GCOORD_ASSERT(frontier.sane());
}

Result<MerkleFrontier> frontier_at(const TreeReader& reader, std::uint64_t size) {
  MerkleFrontier frontier{.size = size, .peaks = {}};
  std::uint64_t begin = 0;
  for (std::uint64_t rest = size; rest != 0;) {
    const auto level = static_cast<std::uint32_t>(std::bit_width(rest) - 1);
    GCOORD_TRY(const std::vector<MerkleHash> peak, reader.hashes(level, begin >> level, 1));
    frontier.peaks.push_back(peak.front());
    begin += std::uint64_t{1} << level;
    rest -= std::uint64_t{1} << level;
  }
  return frontier;
}

}  // namespace gcoord::ledger
