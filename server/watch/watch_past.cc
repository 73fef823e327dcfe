#include "server/watch/watch_past.h"

namespace gcoord::server {

bool WatchPast::plan(Watch& watch, bool history, protocol::ReplySlot& refusal) {
  for (const auto& [shard, from] : watch.from) {
    const LogIndex floor = ring_.floor(ShardId{shard});
    if (from > floor.value) {
      continue;
    }
    auto job = history ? make(watch, ShardId{shard}, LogIndex{from}) : nullptr;
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

std::vector<std::uint64_t> WatchPast::collect() {
  std::vector<std::uint64_t> watches = std::exchange(resting_, {});
  if (replay_ != nullptr) {
    for (const auto& job : replay_->taken()) {
      job->resting = true;
      watches.push_back(job->watch);
    }
  }
  return watches;
}

std::optional<std::uint64_t> WatchPast::next(std::size_t jobs_max) {
  if (running_ >= jobs_max || queue_.empty()) {
    return std::nullopt;
  }
  const std::uint64_t watch = queue_.front();
  queue_.pop_front();
  return watch;
}

void WatchPast::begin(const Watch& watch) {
  ++running_;
  watch.replays.front()->begun = true;
  replay_->submit(watch.replays.front());
}

void WatchPast::stop() {
  replay_.reset();
  queue_.clear();
  resting_.clear();
}

void WatchPast::give_up(const Watch& watch) {
  if (!watch.replays.empty()) {
    running_ -= watch.replays.front()->begun ? 1 : 0;
    watch.replays.front()->given_up.store(true);
  }
}

}  // namespace gcoord::server
