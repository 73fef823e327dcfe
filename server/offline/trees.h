// The frontiers of the Merkle trees of a node that does not run, as of the newest entry that it
// holds.
//
// Up to its checkpoint a shard's tree is in the node's history, which is only read: what is behind
// that may never have been decided, so it must not be kept there. The leaves of those entries are
// hashed here. It stands before the service as the history of a running node does
// (server/history/ledger_service.h). One thread.
#pragma once

#include "ledger/history/history.h"
#include "ledger/merkle/frontier.h"
#include "server/interfaces/passing_machine.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace gcoord::server {

class OfflineTrees final : public PassingMachine {
 public:
  // `inner` and the history's store outlive it.
  OfflineTrees(StateMachine& inner,
               std::shared_ptr<const ledger::History> history,
               std::uint32_t shard_count)
      : PassingMachine(inner), history_(std::move(history)), sizes_(shard_count) {}

  // Of all entries that the shard was told of; after failure() was OK. Failures: history's, where
  // it does not have what is before a checkpoint.
  Result<ledger::MerkleFrontier> frontier(ShardId shard);

  // The first entry that did not follow (kHistoryGap), or whose tree could not be read.
  const Status& failure() const { return failure_; }

  // server/interfaces/state_machine.h
  void apply(const AppliedEntry& entry) override;
  void serialize(ShardId shard, std::vector<std::byte>& bytes) override;
  Status install(ShardId shard, std::span<const std::byte> bytes) override;
  bool plausible(ShardId shard, std::span<const std::byte> bytes) const override;

 private:
  // The one that grows; nullptr, and failure_ says why: it cannot be had.
  ledger::MerkleFrontier* growing(ShardId shard);

  std::shared_ptr<const ledger::History> history_;
  std::vector<std::uint64_t> sizes_;  // By shard: entries that it was told of.
  // By shard, where it is not history's at that size.
  std::unordered_map<std::uint32_t, ledger::MerkleFrontier> frontiers_;
  std::vector<std::byte> leaf_;  // Kept warm.
  Status failure_;
};

}  // namespace gcoord::server
