// Heads of trees that have grown a little since, without a look at the store.
#include "ledger/history/history.h"
#include "ledger/merkle/frontier_growth.h"

#include <algorithm>
#include <array>
#include <bit>

namespace gcoord::ledger {
namespace {

// Leaves that are hashed again for one root. A tree that grew by one needs four of them in the
// mean, and 2^k - 1 where it completed a subtree of 2^k: beyond this, reading is no dearer.
constexpr std::uint64_t kLeavesAgainMax = 64;

}  // namespace

void History::Memory::hash_leaves(ShardId shard,
                                  std::uint64_t first,
                                  std::span<std::optional<MerkleHash>> into) const {
  growing->hash_leaves(shard, first, into);
  if (leaving != nullptr) {
    leaving->pending().hash_leaves(shard, first, into);
  }
}

// Above the highest bit in which the sizes differ, both trees have the same peaks; the leaves
// below it are hashed again.
std::optional<MerkleHash> History::root_before(const MerkleFrontier& now,
                                               const ShardHead& named,
                                               const Memory& memory) {
  if (named.size == 0 || named.size > now.size) {
    return std::nullopt;
  }
  if (named.size == now.size) {
    return root_of(now);
  }
  const auto same_from = static_cast<std::uint32_t>(std::bit_width(named.size ^ now.size));
  const std::uint64_t shared = named.size >> same_from << same_from;
  const std::uint64_t again = named.size - shared;
  if (again > kLeavesAgainMax) {
    return std::nullopt;
  }
  std::array<std::optional<MerkleHash>, kLeavesAgainMax> room;
  const auto leaves = std::span(room).first(again);
  memory.hash_leaves(named.shard, shared, leaves);
  if (!std::ranges::all_of(leaves, [](const auto& leaf) { return leaf.has_value(); })) {
    return std::nullopt;
  }
  MerkleFrontier then{.size = shared, .peaks = now.peaks};
  then.peaks.resize(static_cast<std::size_t>(std::popcount(shared)));
  for (const auto& leaf : leaves) {
    append_leaf(then, *leaf);
  }
  return root_of(then);
}

Result<std::vector<ShardHead>> History::heads_at(std::span<const ShardHead> named) const {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(named.size());
  for (const ShardHead& each : named) {
    numbers.push_back(each.shard.value);
  }
  GCOORD_TRY(const std::vector<MerkleFrontier> now, frontiers(numbers));
  const Memory memory = this->memory();
  std::vector<ShardHead> heads;
  heads.reserve(named.size());
  for (std::size_t k = 0; k < named.size(); ++k) {
    const auto root = root_before(now[k], named[k], memory);
    heads.push_back(root ? ShardHead{named[k].shard, named[k].size, *root}
                         : ShardHead{.shard = named[k].shard, .size = 0, .root = {}});
  }
  return heads;
}

}  // namespace gcoord::ledger
