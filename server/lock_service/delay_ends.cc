#include "server/lock_service/delay_ends.h"

namespace gcoord::server {

void DelayEnds::on_tick() {
  const Tick now = env_.clock.now;
  if (now < next_deadline()) {
    return;
  }
  due_.resize(kDelaysPerTickMax);
  due_.resize(env_.locks.delays().due(now, due_));
  for (const locks::DelayedLock& due : due_) {
    if (!env_.leaders.leads(due.shard) || !env_.log.view(due.shard).lease) {
      env_.locks.delays().on_refused(due.shard, due.token, now + 1);
      continue;
    }
    Pending pending;
    pending.kind = PendingKind::Delay;
    pending.request.shard = due.shard.value;
    pending.request.token = due.token.value;
    env_.log.propose(due.shard, locks::make_end_delay(due.name_hash, due.token), pending);
  }
}

void DelayEnds::on_refused(const Pending& pending, Tick again) {
  env_.locks.delays().on_refused(
      ShardId{pending.request.shard}, FencingToken{pending.request.token}, again);
}

}  // namespace gcoord::server
