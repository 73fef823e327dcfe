// Watches that follow a name to the shard where its lock is (docs/adr/0055).
//
// Such a watch is about one shard at a time. Where the lock leaves that shard the watch goes on in
// the other one, from where the same move brought the lock there: back in the ring if this node was
// quicker to apply that, from history if the ring has let go of it, later if it is yet to come. So
// events come in the order in which they happened, whatever this node lags behind with.
#include "common/name_hash.h"
#include "server/watch/hub.h"

#include <utility>

namespace gcoord::server {

using locks::Residence;
using protocol::ErrorCode;

// The lock has come to where the watch is. A client that comes again does so from here.
void WatchHub::arrive(Watch& watch, const WatchNotice& told) {
  WatchFilter filter = watch.target->filter;
  filter.arrival = 0;
  aim(watch, filter);
  watch.move_number = told.move->number;
  if (told.events.empty()) {
    protocol::WatchProgressPart part;  // Nobody asked, so it is nothing's last part.
    part.revisions.push_back({told.shard, told.revision});
    outlet_.send(watch, protocol::encode_watch_progress(part));
  }
}

void WatchHub::aim(Watch& watch, const WatchFilter& filter) {
  GCOORD_ASSERT(watch.stage != WatchStage::Live);
  WatchTargetState& before = *watch.target;
  watch.target = &targets_.add(filter);
  drop_target(before);
}

// Whether the watch could go on at once; it is gone when what it needs is.
bool WatchHub::follow(Watch& watch, const FollowTurn& turn) {
  GCOORD_ASSERT(watch.stage == WatchStage::Behind);
  if (turn.shard.value >= options_.shard_count) {
    end(watch, ErrorCode::WatchCompacted, LogIndex{1}, watch.target->filter.shard_first);
    return false;
  }
  WatchFilter filter = watch.target->filter;
  filter.shard_first = turn.shard;
  filter.arrival = turn.number;
  aim(watch, filter);
  watch.from.clear();
  watch.opened_at = 0;
  watch.misses = misses_.newest();
  watch.move_number = turn.number;
  const NameHash name = hash_name(filter.text);
  const auto known = arrivals_.find(name, turn.number);
  if (known && known->shard == turn.shard && known->cursor >= ring_.first()) {
    watch.cursor = known->cursor;
    return true;
  }
  const auto there = environment_.residence(turn.shard, name);
  if (!there || there->move_number < turn.number) {
    watch.cursor = ring_.end();  // It is yet to come.
    return true;
  }
  return replay_arrival(watch);
}

// It came before anything was recorded, or the ring has let go of it.
bool WatchHub::replay_arrival(Watch& watch) {
  const ShardId shard = watch.target->filter.shard_first;
  auto job = past_.make(watch, shard, LogIndex{1});
  if (job == nullptr) {
    end(watch, ErrorCode::WatchCompacted, ring_.floor(shard) + 1, shard);
    return false;
  }
  watch.replays.push_back(std::move(job));
  watch.cursor = ring_.first();
  lineup_.set_stage(watch, WatchStage::Replaying);
  past_.want(watch);
  return true;
}

// A watch that went on in a shard and was told of no move there, up to now: either the lock is
// there, or it had left before. Whether the watch stays.
bool WatchHub::settled(Watch& watch, bool& more) {
  const WatchFilter& filter = watch.target->filter;
  if (!filter.follows || watch.move_number != 0) {
    return true;
  }
  const NameHash name = hash_name(filter.text);
  const ShardId home = shard_of(name, options_.shard_count);
  const auto here = environment_.residence(filter.shard_first, name);
  if (here && here->residence == Residence::Away) {
    more = follow(watch, {here->away_to, here->move_number});
    return false;
  }
  if (!here && filter.shard_first != home) {
    // It never was there: this is not what the client was told, but what a restore made of it.
    end(watch, ErrorCode::WatchCompacted, environment_.applied(home) + 1, home);
    more = false;
    return false;
  }
  watch.move_number = here ? here->move_number : 0;
  return true;
}

}  // namespace gcoord::server
