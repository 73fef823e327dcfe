#include "ledger/history/pins.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gcoord::ledger {

std::shared_ptr<const HistoryPins::Floors> HistoryPins::pin(Floors floors) {
  auto pinned = std::make_shared<const Floors>(std::move(floors));
  const std::lock_guard lock(mutex_);
  pins_.emplace_back(pinned);
  return pinned;
}

std::uint64_t HistoryPins::floor(ShardId shard) const {
  std::uint64_t lowest = std::numeric_limits<std::uint64_t>::max();
  const std::lock_guard lock(mutex_);
  std::erase_if(pins_, [&](const std::weak_ptr<const Floors>& each) {
    const std::shared_ptr<const Floors> floors = each.lock();
    if (floors != nullptr && shard.value < floors->size()) {
      lowest = std::min(lowest, (*floors)[shard.value]);
    }
    return floors == nullptr;
  });
  return lowest;
}

}  // namespace gcoord::ledger
