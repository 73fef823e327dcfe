// Entries that readers outside of a history still need, such as a save that is under way.
//
// Who pins names from which entry on each shard is to stay, and holds what pin() returns for as
// long as it needs them. Whoever lets go of entries (keeping.h, pruning.h) stops at the lowest pin.
// How long a pin may last is the holder's affair. Any thread.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gcoord::ledger {

class HistoryPins {
 public:
  // The first entry that is needed, by shard.
  using Floors = std::vector<std::uint64_t>;

  // Nothing from the floors on is let go of while what is returned lives, which may be for longer
  // than this. 8 bytes for each shard.
  [[nodiscard]] std::shared_ptr<const Floors> pin(Floors floors);

  // The lowest floor of a shard; the largest number: nobody pins any.
  std::uint64_t floor(ShardId shard) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::weak_ptr<const Floors>> pins_;
};

}  // namespace gcoord::ledger
