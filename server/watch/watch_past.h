// Past of watches: what of it the ring no longer has is made again from history, so many at a time.
//
// A hundred thousand clients that come again after a while may all want that. Those that wait for
// their turn stand in a queue, so a pass looks at those with a batch, jobs_max at most, and at some
// of the queue. One thread; the replay has its own (replay.h).
#pragma once

#include "protocol/request.h"
#include "server/watch/replay.h"
#include "server/watch/ring.h"
#include "server/watch/watch.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::server {

class WatchPast {
 public:
  // `ring` outlives it. An empty reader: nothing older than the ring is served.
  WatchPast(const WatchRing& ring, WatchReplay::Reader reader, std::function<void()> wake)
      : ring_(ring), reader_(std::move(reader)), wake_(std::move(wake)) {}

  // What of the past is not in the ring must come from history, if the client may have that
  // (`history`), or the watch is refused.
  bool plan(Watch& watch, bool history, protocol::ReplySlot& refusal);

  // Of what the ring no longer has; nothing if that cannot be had.
  std::shared_ptr<WatchReplayJob> make(const Watch& watch, ShardId shard, LogIndex from);

  // The watch's first job is to begin in its turn, behind others.
  void want(const Watch& watch) { queue_.push_back(watch.number); }

  // Numbers of watches whose first job may have a batch, to be taken up in this pass. Who is not
  // taken up is given back.
  std::vector<std::uint64_t> collect();

  void give_back(std::uint64_t watch) { resting_.push_back(watch); }

  // The next watch that wants to begin, which leaves the queue; nothing while so many jobs are
  // under way.
  std::optional<std::uint64_t> next(std::size_t jobs_max);

  std::size_t queued_count() const { return queue_.size(); }

  void begin(const Watch& watch);

  // The next batch of the watch's first job.
  void go_on(const Watch& watch) { replay_->submit(watch.replays.front()); }

  // A job that was begun has come to its end.
  void end_one() { --running_; }

  // The watch is no more.
  void give_up(const Watch& watch);

  // Nobody watches.
  void stop();

 private:
  const WatchRing& ring_;
  WatchReplay::Reader reader_;
  std::function<void()> wake_;
  std::unique_ptr<WatchReplay> replay_;  // From the first job on.
  std::size_t running_ = 0;
  std::deque<std::uint64_t> queue_;     // Numbers of watches. They may be gone.
  std::vector<std::uint64_t> resting_;  // Of those that had a batch and were given back.
};

}  // namespace gcoord::server
