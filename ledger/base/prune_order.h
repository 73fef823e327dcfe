// Pruning request of an operator for the ledger, and its result. Plain values.
#pragma once

#include "common/ids.h"
#include "ledger/base/keep_policy.h"

#include <cstdint>
#include <optional>

namespace gcoord::ledger {

struct PruneOrder {
  std::optional<ShardId> shard;  // None: all.
  std::uint64_t below = 0;       // Entries with a smaller index may go.
  KeepPolicy keep;
};

struct PruneReport {
  std::uint64_t shards = 0;   // That were looked at.
  std::uint64_t entries = 0;  // That were let go of.
  std::uint64_t kept = 0;     // Of these shards, afterwards.
  std::uint64_t damaged =
      0;  // Shards whose entries cannot be read for their age: left as they are.
};

}  // namespace gcoord::ledger
