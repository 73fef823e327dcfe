#include "ledger/heads/stale_heads.h"

#include "ledger/notes/shard_head.h"

namespace gcoord::server {
namespace {

constexpr std::uint64_t kLeavesPerRead = 256;   // As a TreeReader gives them.
constexpr std::uint64_t kLeavesPerLook = 4096;  // Some milliseconds of reading.
// What is marked and not published again yet: a round's worth.
constexpr std::size_t kStaleMax = std::size_t{1} << 16;

}  // namespace

Status StaleHeads::advance(const ledger::TreeReader& log,
                           PublishedHeads& heads,
                           std::uint64_t published) {
  while (!stale_.empty() && heads.at(stale_.begin()->second).leaf != stale_.begin()->first) {
    stale_.erase(stale_.begin());
  }
  GCOORD_TRY_STATUS(look(log, heads));
  if (published >= awaited_size_) {
    floor_ = awaited_floor_;
    awaited_floor_ = replaced();
    awaited_size_ = log.size();
  }
  if (published >= awaited_size_) {
    floor_ = awaited_floor_;
  }
  return Status{};
}

Status StaleHeads::look(const ledger::TreeReader& log, PublishedHeads& heads) {
  next_ = std::max(next_, log.first());
  const std::uint64_t end = log.size() > window_ ? log.size() - window_ : 0;
  for (std::uint64_t done = 0; next_ < end && done < kLeavesPerLook && stale_.size() < kStaleMax;) {
    const std::uint64_t count = std::min(kLeavesPerRead, end - next_);
    GCOORD_TRY(const auto leaves, log.entries(next_, static_cast<std::size_t>(count)));
    for (const auto& leaf : leaves) {
      GCOORD_TRY(const ledger::ShardHead head, ledger::decode_head(leaf));
      const bool known = head.shard.value < heads.shard_count();
      const PublishedHead newest = known ? heads.at(head.shard) : PublishedHead{};
      if (newest.size != 0 && newest.leaf == next_) {
        stale_.emplace(next_, head.shard);
        heads.refresh(head.shard);
      }
      ++next_;
      ++done;
    }
  }
  return Status{};
}

}  // namespace gcoord::server
