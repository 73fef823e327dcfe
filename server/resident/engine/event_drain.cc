#include "server/resident/engine/event_drain.h"

#include "common/device/device_errors.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

// What one turn takes from lanes where nobody waits: more is left for the next, so that clients are
// read, and who leads is looked at, every few milliseconds however much there is to hear.
constexpr std::uint32_t kToldPerTurn = 4096;
// Of that, from one lane.
constexpr std::uint32_t kToldPerLane = 256;

// What all lanes together may have in their rings, where that is less than kCopyRingEvents each: of
// a million shards in 256 lanes their memory would be a hundred megabytes.
constexpr std::uint32_t kAheadEvents = 1u << 16;

}  // namespace

// Each follower has the lanes whose shards are a part of the tables.
EventDrain::EventDrain(const Environment& environment)
    : env_(environment),
      check_(environment.node, environment.requests),
      probe_(environment.node.options().shape.stripe_count, environment.requests),
      leases_(environment.node.options().timing.tick_ns / 1000,
              environment.node.options().timing.timing),
      drained_(environment.node.options().shape.stripe_count) {
  const CopyOptions& copy = env_.copy;
  if (copy.tables == nullptr || copy.part_shards == 0) {
    return;
  }
  const TurnShape& shape = env_.node.options().shape;
  followers_ = std::make_unique<Followers>(
      Follower::Environment{env_.node, *copy.tables, check_.shape()},
      Followers::Options{
          .lane_count = shape.stripe_count,
          .lanes_each = copy.part_shards / stripe_rows(shape),
          .ring_events = std::min(copy.ring_events, kAheadEvents / shape.stripe_count)});
}

Result<std::size_t> EventDrain::drain() {
  GCOORD_TRY_STATUS(look());
  GCOORD_TRY_STATUS(failure());
  set_time();
  const std::uint32_t lanes = env_.node.options().shape.stripe_count;
  const std::uint32_t whole = env_.node.options().client_slots * kNoopsPerSlot;
  std::size_t told = 0;
  std::fill(drained_.begin(), drained_.end(), false);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    if (env_.requests.awaits(lane)) {
      expect(lane + 1);
      const std::uint32_t most = env_.rows.is_ending(lane) ? whole : kToldPerLane;
      GCOORD_TRY(const std::uint32_t heard, drain_lane(lane, most));
      told += heard;
      drained_[lane] = heard < most;
    }
  }
  std::uint32_t left = kToldPerTurn;
  for (std::uint32_t k = 0; k < lanes && left != 0; ++k) {
    if (!drained_[next_lane_]) {
      expect(next_lane_ + 1);
      GCOORD_TRY(const std::uint32_t heard, drain_lane(next_lane_, std::min(left, kToldPerLane)));
      told += heard;
      left -= std::min(left, heard);  // A lane that ends is passed on whole.
    }
    next_lane_ = (next_lane_ + 1) % lanes;
  }
  if (followers_ != nullptr) {
    followers_->wake_helped(env_.now_ms());
  }
  GCOORD_TRY_STATUS(failure());  // Before anything of this pass leaves.
  const bool followed = env_.rows.follow();
  show_leaders();
  return told + (followed ? 1 : 0);
}

// Those that took effect.
void EventDrain::show_leaders() const {
  for (std::size_t k = 0; env_.sightings != nullptr && k < changes_->size(); ++k) {
    const ShardId shard = (*changes_)[k].shard;
    env_.sightings->on_leader(shard, env_.rows.leaders().known(shard));
  }
}

// Where a thread follows the lane, the copy may be ahead of this entry: then the device's hash,
// which the thread has compared, and none of a no-op, of which a device says none. What waits for a
// state, or is part of one, was not applied.
void EventDrain::show_applied(const HostEventSlot& told, const CopyEvent* event) const {
  const ShardId shard = told.reply.shard;
  if (env_.sightings == nullptr || env_.rows.applied(shard) != told.reply.index) {
    return;
  }
  std::optional<std::uint64_t> hash;
  if (event == nullptr || event->deed == CopyDeed::Left) {
    hash = env_.sightings->hash_of(shard);
  } else if (!LockTurnService::is_noop(told.entry)) {
    hash = told.reply.result.word[0];
  }
  env_.sightings->on_applied(shard, told.reply.index, hash);
}

void EventDrain::set_time() {
  if (followers_ != nullptr) {
    followers_->set_time(env_.copy.now());
  }
}

Status EventDrain::failure() const {
  const Status* const failure = followers_ == nullptr ? nullptr : followers_->failure();
  return failure == nullptr ? Status{} : *failure;
}

Status EventDrain::look() {
  changes_ = &env_.rows.look();
  const auto impossible = env_.rows.leaders().impossible();
  if (!impossible.has_value()) {
    return {};
  }
  return {StatusCode::Internal,
          "the device reported an impossible leader of shard " + std::to_string(impossible->value),
          kDeviceFailed};
}

Status EventDrain::take(std::uint32_t lane, const HostEventSlot& told, const CopyEvent* event) {
  GCOORD_TRY_STATUS(event != nullptr ? check_.judge_tag(lane, told) : check_.judge(lane, told));
  const TurnVerdict verdict = told.reply.verdict;
  if (env_.storage != nullptr && verdict == TurnVerdict::Store) {
    return env_.storage->take(told);
  }
  probe_.take(lane, told.reply);
  if (verdict == TurnVerdict::ReadReady && !compare_clocks(told.reply) &&
      env_.requests.read_by_round(told.reply.tag)) {
    return {};
  }
  GCOORD_TRY_STATUS(event != nullptr ? env_.rows.take(lane, *event) : env_.rows.take(lane, told));
  const bool decided = verdict == TurnVerdict::Committed || verdict == TurnVerdict::Told;
  if (decided) {
    show_applied(told, event);
  }
  return env_.storage != nullptr && decided ? env_.storage->on_told(told) : Status{};
}

// Whether the answer is proof: under the lease it is if the clocks say so.
bool EventDrain::compare_clocks(const TurnReply& read) {
  const bool trusted = leases_.trusts();
  const Tick tick{read.result.word[0]};
  const std::uint64_t now_us = env_.now_ms() * 1000;
  const bool proves = leases_.proves(tick, now_us);
  leases_.note(tick, now_us);
  if (trusted && !leases_.trusts()) {
    log_warning(LogComponent::Gpu,
                "the clocks of the device and of its host drift apart: reads ask a quorum");
  }
  return static_cast<ReadWay>(read.detail) != ReadWay::Lease || (proves && leases_.trusts());
}

// Takes what a lane brought; how much that was.
Result<std::uint32_t> EventDrain::drain_lane(std::uint32_t lane, std::uint32_t most) {
  if (followers_ != nullptr) {
    return drain_followed(lane, most);
  }
  std::uint32_t told = 0;
  for (; told < most; ++told) {
    const HostEventSlot* const slot = env_.node.pull(lane);
    if (slot == nullptr) {
      break;
    }
    GCOORD_TRY_STATUS(take(lane, *slot, nullptr));
  }
  if (env_.node.lane(lane).is_broken()) {
    return lane_broken(lane);
  }
  if (told != 0) {
    probe_.heard(lane, env_.now_ms());
  }
  return told;
}

// The same where a thread follows the lane. Where a term ended, that thread does nothing meanwhile:
// what the lane has now is passed on whole.
Result<std::uint32_t> EventDrain::drain_followed(std::uint32_t lane, std::uint32_t most) {
  Follower& follower = followers_->of(lane);
  std::optional<ShortMutex::Held> held;
  if (env_.rows.is_ending(lane)) {
    held.emplace(followers_->hold(lane));
    most += kCopyRingEvents;
  }
  std::uint32_t told = 0;
  while (told < most) {
    if (follower.failed()) {
      return follower.failure();
    }
    if (follower.front(lane) != nullptr) {
      GCOORD_TRY_STATUS(pass_on(lane, follower));
      ++told;
      continue;
    }
    // A follower that has brought something is at work, and its mutex wanted by itself.
    if ((told != 0 && !held.has_value()) || followers_->help(lane, most - told) == 0) {
      break;
    }
  }
  if (told != 0) {
    probe_.heard(lane, env_.now_ms());
  }
  return told;
}

// What the next lane's ring has comes nearer.
void EventDrain::expect(std::uint32_t lane) const {
  if (followers_ != nullptr && lane < drained_.size()) {
    followers_->of(lane).expect(lane);
  }
}

Status EventDrain::pass_on(std::uint32_t lane, Follower& follower) {
  const CopyEvent& event = *follower.front(lane);
  if (const CopyEvent* const next = follower.second(lane); next != nullptr) {
    env_.rows.expect(*next);
  }
  GCOORD_TRY_STATUS(take(lane, event.told, &event));
  follower.pop(lane);
  return {};
}

// The lane's follower is held.
Status EventDrain::settle(std::uint32_t lane) {
  Follower& follower = followers_->of(lane);
  while (follower.front(lane) != nullptr && followers_->failure() == nullptr) {
    GCOORD_TRY_STATUS(pass_on(lane, follower));
  }
  return failure();
}

Status EventDrain::while_settled(const std::function<Status()>& work) {
  std::vector<ShortMutex::Held> held;
  const std::uint32_t lanes = env_.node.options().shape.stripe_count;
  for (std::uint32_t lane = 0; followers_ != nullptr && lane < lanes; ++lane) {
    held.push_back(followers_->hold(lane));
    GCOORD_TRY_STATUS(settle(lane));
  }
  return work();
}

void EventDrain::begin_following() {
  if (followers_ != nullptr) {
    env_.rows.follow_by(followers_.get());
    set_time();
    followers_->start();
  }
}

void EventDrain::stop_following() {
  if (followers_ != nullptr) {
    followers_->stop();
  }
}

void EventDrain::leave_all(bool left) {
  if (followers_ != nullptr) {
    followers_->leave_all(left);
  }
}

}  // namespace gcoord::server
