#include "server/offline/trees.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/frontier_growth.h"
#include "ledger/merkle/hash.h"
#include "server/history/ledger_head.h"
#include "server/interfaces/errors.h"

#include <string>
#include <utility>

namespace gcoord::server {

Result<ledger::MerkleFrontier> OfflineTrees::frontier(ShardId shard) {
  if (const auto found = frontiers_.find(shard.value); found != frontiers_.end()) {
    return found->second;
  }
  const std::uint64_t size = sizes_[shard.value];
  if (size == 0) {
    return ledger::MerkleFrontier{};
  }
  if (history_->size(shard) < size) {
    return Status{StatusCode::DataLoss,
                  "shard " + std::to_string(shard.value) + " has a checkpoint of " +
                      std::to_string(size) + " entries and a history of " +
                      std::to_string(history_->size(shard)) + ledger::kRotAdvice,
                  ledger::kHistoryGap};
  }
  return ledger::frontier_at(*history_->reader(shard), size);
}

ledger::MerkleFrontier* OfflineTrees::growing(ShardId shard) {
  const auto found = frontiers_.find(shard.value);
  if (found != frontiers_.end()) {
    return &found->second;
  }
  auto begun = frontier(shard);
  if (!begun.ok()) {
    failure_ = failure_.ok() ? begun.status() : failure_;
    return nullptr;
  }
  return &frontiers_.emplace(shard.value, std::move(begun).value()).first->second;
}

void OfflineTrees::apply(const AppliedEntry& entry) {
  std::uint64_t& size = sizes_[entry.shard.value];
  if (failure_.ok() && entry.index.value != size + 1) {
    failure_ = {StatusCode::DataLoss,
                "shard " + std::to_string(entry.shard.value) + " has entry " +
                    std::to_string(entry.index.value) + " behind " + std::to_string(size) +
                    ledger::kRotAdvice,
                ledger::kHistoryGap};
  }
  ledger::MerkleFrontier* const grows = failure_.ok() ? growing(entry.shard) : nullptr;
  if (grows == nullptr) {
    return;
  }
  ledger::append_leaf(*grows, ledger::hash_leaf(ledger_leaf(entry, leaf_)));
  ++size;
  inner_.apply(entry);
}

void OfflineTrees::serialize(ShardId shard, std::vector<std::byte>& bytes) {
  inner_.serialize(shard, bytes);
}

Status OfflineTrees::install(ShardId shard, std::span<const std::byte> bytes) {
  const auto head = decode_ledger_head(bytes);
  if (!head) {
    return {StatusCode::DataLoss, "has a state without a history", kCheckpointImpossible};
  }
  sizes_[shard.value] = head->size;
  frontiers_.erase(shard.value);
  if (head->frontier) {
    ledger::MerkleFrontier& grows = frontiers_.emplace(shard.value, *head->frontier).first->second;
    for (const std::span<const std::byte> leaf : head->tail) {
      ledger::append_leaf(grows, ledger::hash_leaf(leaf));
    }
  }
  return inner_.install(shard, head->rest);
}

bool OfflineTrees::plausible(ShardId shard, std::span<const std::byte> bytes) const {
  const auto head = decode_ledger_head(bytes);
  return head && inner_.plausible(shard, head->rest);
}

}  // namespace gcoord::server
