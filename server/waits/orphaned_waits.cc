#include "server/waits/orphaned_waits.h"

#include "locks/commands/move_command.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

UnclaimedPlaces::UnclaimedPlaces(std::uint32_t tick_ms, const locks::LockCpu& locks, Doors doors)
    : tick_ms_(tick_ms), locks_(locks), doors_(std::move(doors)) {}

void UnclaimedPlaces::on_arrived(ShardId shard, NameHash name, Tick now) {
  add(shard, locks_.unclaimed(shard, name), now);
}

void UnclaimedPlaces::on_led(ShardId shard, Tick now) {
  std::erase_if(due_, [shard](const auto& each) { return each.second.shard == shard; });
  add(shard, locks_.unclaimed(shard), now);
}

void UnclaimedPlaces::add(ShardId shard,
                          const std::vector<locks::UnclaimedPlace>& places,
                          Tick now) {
  for (const locks::UnclaimedPlace& place : places) {
    due_.emplace(now + ticks(std::max(place.ttl_ms, kClaimMsMin)), Place{shard, place});
  }
}

void UnclaimedPlaces::on_tick(Tick now) {
  std::size_t proposed = 0;
  while (next_deadline() <= now && proposed < kLapsesPerTickMax) {
    const Place due = due_.begin()->second;
    due_.erase(due_.begin());
    if (!doors_.leads(due.shard) || !locks_.still_unclaimed(due.shard, due.place)) {
      continue;
    }
    due_.emplace(now + ticks(kLapseAgainMs), due);
    ++proposed;
    doors_.propose(due.shard,
                   locks::make_move_lapse(due.place.session, due.place.sequence, due.place.name));
  }
}

}  // namespace gcoord::server
