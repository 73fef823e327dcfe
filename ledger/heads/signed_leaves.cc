#include "ledger/heads/signed_leaves.h"

#include "ledger/notes/shard_head.h"

#include <algorithm>
#include <cstddef>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLeavesPerRead = 256;   // As a TreeReader gives them.
constexpr std::uint64_t kLeavesPerLook = 4096;  // Some milliseconds of reading.

}  // namespace

Result<bool> SignedLeaves::advance(const ledger::TreeReader& log,
                                   std::uint64_t signed_size,
                                   PublishedHeads& heads) {
  const std::uint64_t oldest = signed_size > scanned_max_ ? signed_size - scanned_max_ : 0;
  next_ = std::max({next_, oldest, log.first()});
  const std::uint64_t end = std::min(signed_size, next_ + kLeavesPerLook);
  while (next_ < end) {
    const std::uint64_t count = std::min(kLeavesPerRead, end - next_);
    GCOORD_TRY(const auto leaves, log.entries(next_, static_cast<std::size_t>(count)));
    for (const auto& leaf : leaves) {
      GCOORD_TRY(const ledger::ShardHead head, ledger::decode_head(leaf));
      heads.on_signed_leaf(head);
    }
    next_ += leaves.size();
  }
  return next_ < signed_size;
}

}  // namespace gcoord::server
