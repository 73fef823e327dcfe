#include "server/waits/orphaned_waits.h"

#include "locks/commands/move_command.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

OrphanedWaits::OrphanedWaits(std::uint32_t tick_ms, const locks::LockCpu& locks, Environment doors)
    : tick_ms_(tick_ms), locks_(locks), environment_(std::move(doors)) {}

void OrphanedWaits::on_arrived(ShardId shard, NameHash name, Tick now) {
  add(shard, locks_.unclaimed(shard, name), now);
}

void OrphanedWaits::on_led(ShardId shard, Tick now) {
  std::erase_if(due_, [shard](const auto& each) { return each.second.shard == shard; });
  add(shard, locks_.unclaimed(shard), now);
}

void OrphanedWaits::add(ShardId shard, const std::vector<locks::OrphanedWait>& places, Tick now) {
  for (const locks::OrphanedWait& place : places) {
    due_.emplace(now + ticks(std::max(place.ttl_ms, kClaimMsMin)), Place{shard, place});
  }
}

void OrphanedWaits::on_tick(Tick now) {
  std::size_t proposed = 0;
  while (next_deadline() <= now && proposed < kLapsesPerTickMax) {
    const Place due = due_.begin()->second;
    due_.erase(due_.begin());
    if (!environment_.leads(due.shard) || !locks_.still_unclaimed(due.shard, due.place)) {
      continue;
    }
    due_.emplace(now + ticks(kLapseAgainMs), due);
    ++proposed;
    environment_.propose(
        due.shard, locks::make_move_lapse(due.place.session, due.place.sequence, due.place.name));
  }
}

}  // namespace gcoord::server
