#include "ledger/tree_frontier.h"

#include "common/assert.h"

#include <bit>

namespace gcoord::ledger {

Result<TreeFrontier> TreeFrontier::at(const TreeReader& reader, std::uint64_t size) {
  TreeFrontier frontier;
  frontier.size_ = size;
  std::uint64_t begin = 0;
  for (std::uint64_t rest = size; rest != 0;) {
    const auto level = static_cast<std::uint32_t>(std::bit_width(rest) - 1);
    GCOORD_TRY(const std::vector<MerkleHash> peak, reader.hashes(level, begin >> level, 1));
    frontier.peaks_.push_back(peak.front());
    begin += std::uint64_t{1} << level;
    rest -= std::uint64_t{1} << level;
  }
  GCOORD_ASSERT(begin == size);
  return frontier;
}

void TreeFrontier::append(const MerkleHash& leaf) {
  MerkleHash hash = leaf;
  for (std::uint64_t carry = size_; (carry & 1u) != 0; carry >>= 1u) {
    hash = hash_node(peaks_.back(), hash);
    peaks_.pop_back();
  }
  peaks_.push_back(hash);
  ++size_;
  GCOORD_ASSERT(peaks_.size() == static_cast<std::size_t>(std::popcount(size_)));
}

MerkleHash TreeFrontier::root() const {
  if (peaks_.empty()) {
    return empty_root();
  }
  MerkleHash root = peaks_.back();
  for (auto peak = peaks_.rbegin() + 1; peak != peaks_.rend(); ++peak) {
    root = hash_node(*peak, root);
  }
  return root;
}

}  // namespace gcoord::ledger
