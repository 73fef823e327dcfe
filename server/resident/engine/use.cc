#include "server/resident/engine/use.h"

#include "locks/snapshot/snapshot.h"
#include "server/resident/node/lock_turn_service.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// Commands between two measurements of a small shard.
constexpr std::uint32_t kMeasureEvery = 16;

void take_off(locks::LockDemand& sum, const locks::LockDemand& part) {
  sum.locks -= part.locks;
  sum.sessions -= part.sessions;
  sum.requests -= part.requests;
  sum.name_blocks -= part.name_blocks;
}

}  // namespace

void ResidentUse::measure(std::uint32_t lane, ShardId shard) {
  Use& use = uses_[shard.value];
  bytes_.clear();
  // Not what it serializes: a service around the locks may put a head before their bytes.
  service_.state(shard, bytes_);
  const auto snapshot = locks::parse_snapshot(bytes_);
  const locks::LockDemand now =
      snapshot.ok() ? locks::demand_of(snapshot.value()) : locks::LockDemand{};
  take_off(lanes_[lane], use.taken);
  lanes_[lane] += now;
  use = {.taken = now, .commands = 0, .again_at = std::max(kMeasureEvery, now.locks / 4)};
}

void ResidentUse::add(std::uint32_t lane, ShardId shard, const locks::LockDemand& demand) {
  const auto found = uses_.find(shard.value);
  if (found == uses_.end()) {
    measure(lane, shard);
    return;
  }
  Use& use = found->second;
  if (++use.commands >= use.again_at) {
    measure(lane, shard);
    return;
  }
  use.taken += demand;
  lanes_[lane] += demand;
}

std::uint32_t ResidentUse::of_lane(std::uint32_t lane) const {
  const locks::LockDemand& use = lanes_[lane];
  const std::uint32_t names = (use.name_blocks + kRoomNameBlocks - 1) / kRoomNameBlocks;
  return std::max({use.locks, use.sessions, use.requests, names});
}

}  // namespace gcoord::server
