// Past of watches: what of it the ring no longer has is made again from history, so many at a time.
//
// One thread; the replay has its own (watch_replay.h).
#pragma once

#include "protocol/request.h"
#include "server/watch/replay.h"
#include "server/watch/ring.h"
#include "server/watch/watch.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace gcoord::server {

class WatchPast {
 public:
  // `ring` outlives it. An empty reader: nothing older than the ring is served.
  WatchPast(const WatchRing& ring, WatchReplay::Reader reader, std::function<void()> wake)
      : ring_(ring), reader_(std::move(reader)), wake_(std::move(wake)) {}

  // What of the past is not in the ring must come from history, or the watch is refused.
  bool plan(Watch& watch, protocol::ReplySlot& refusal);

  // Of what the ring no longer has; nothing if that cannot be had.
  std::shared_ptr<WatchReplayJob> make(const Watch& watch, ShardId shard, LogIndex from);

  // Takes back the jobs with a batch. Whether there can be any.
  bool collect();

  // Begins the watch's first job, unless so many are under way. Whether it did.
  bool begin(const Watch& watch, std::size_t jobs_max);

  // The next batch of the watch's first job.
  void go_on(const Watch& watch) { replay_->submit(watch.replays.front()); }

  // A job that was begun has come to its end.
  void end_one() { --running_; }

  // The watch is no more.
  void give_up(const Watch& watch);

  // Nobody watches.
  void stop() { replay_.reset(); }

 private:
  const WatchRing& ring_;
  WatchReplay::Reader reader_;
  std::function<void()> wake_;
  std::unique_ptr<WatchReplay> replay_;  // From the first job on.
  std::size_t running_ = 0;
};

}  // namespace gcoord::server
