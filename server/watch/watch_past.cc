#include "server/watch/watch_past.h"

namespace gcoord::server {

bool WatchPast::plan(Watch& watch, protocol::ReplySlot& refusal) {
  for (const auto& [shard, from] : watch.from) {
    const LogIndex floor = ring_.floor(ShardId{shard});
    if (from > floor.value) {
      continue;
    }
    auto job = make(watch, ShardId{shard}, LogIndex{from});
    if (job == nullptr) {
      refusal.extra = floor.value + 1;
      refusal.shard = shard;
      return false;
    }
    watch.replays.push_back(std::move(job));
  }
  return true;
}

std::shared_ptr<WatchReplayJob> WatchPast::make(const Watch& watch, ShardId shard, LogIndex from) {
  const LogIndex floor = ring_.floor(shard);
  if (reader_ && replay_ == nullptr) {
    replay_ = std::make_unique<WatchReplay>(reader_, wake_);
  }
  if (replay_ == nullptr || !replay_->can(shard, floor)) {
    return nullptr;
  }
  auto job = std::make_shared<WatchReplayJob>();
  job->watch = watch.number;
  job->shard = shard;
  job->from = from;
  job->to = floor;
  job->filter = watch.target->filter;
  return job;
}

bool WatchPast::collect() {
  if (replay_ == nullptr) {
    return false;
  }
  for (const auto& job : replay_->taken()) {
    job->resting = true;
  }
  return true;
}

bool WatchPast::begin(const Watch& watch, std::size_t jobs_max) {
  if (running_ >= jobs_max) {
    return false;
  }
  ++running_;
  watch.replays.front()->begun = true;
  replay_->submit(watch.replays.front());
  return true;
}

void WatchPast::give_up(const Watch& watch) {
  if (!watch.replays.empty()) {
    running_ -= watch.replays.front()->begun ? 1 : 0;
    watch.replays.front()->given_up.store(true);
  }
}

}  // namespace gcoord::server
