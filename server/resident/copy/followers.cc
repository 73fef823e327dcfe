#include "server/resident/copy/followers.h"

#include "common/assert.h"
#include "common/host/thread_name.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace gcoord::server {
namespace {

// Of one lane at a time, so that the others' turn comes soon.
constexpr std::uint32_t kEventsAtOnce = 64;

// Looks at all lanes that found nothing, before a thread sleeps: some hundred microseconds, as the
// loop's own patience (ResidentReplicas).
constexpr std::uint32_t kIdleLooks = 1000;

// Of them so many in a row before another thread may have the processor.
constexpr std::uint32_t kLooksInARow = 16;

// So many events within a millisecond, of all lanes of a thread, are worth its waking up: some tens
// of microseconds of the loop's. Not those of one pass: a loop that is full makes many short ones.
constexpr std::uint32_t kWorthWaking = 48;

}  // namespace

Followers::Followers(const Follower::Environment& environment, const Options& options)
    : lanes_each_(options.lanes_each) {
  GCOORD_ASSERT(options.lanes_each != 0 && options.lane_count != 0);
  for (std::uint32_t first = 0; first < options.lane_count; first += lanes_each_) {
    const std::uint32_t count = std::min(lanes_each_, options.lane_count - first);
    members_.push_back(
        std::make_unique<Member>(environment, Follower::Lanes{first, count, options.ring_events}));
  }
}

Followers::~Followers() {
  stop();
}

void Followers::start() {
  for (const auto& member : members_) {
    try {
      member->thread = std::thread([this, &member = *member] { run(member); });
    } catch (const std::system_error&) {
      return;  // The system has no thread more: help() does what is left.
    }
  }
}

void Followers::stop() {
  stopping_.store(true, std::memory_order_release);
  for (const auto& member : members_) {
    {
      const std::lock_guard lock(member->sleep_mutex);
      member->asleep.store(false, std::memory_order_relaxed);
    }
    member->wakes.notify_one();
    if (member->thread.joinable()) {
      member->thread.join();
    }
  }
}

void Followers::run(Member& member) {
  name_this_thread("gcoord-copy-" + std::to_string(member.lanes.first / lanes_each_));
  std::uint32_t idle = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    std::uint32_t done = 0;
    for (std::uint32_t k = 0; k < member.lanes.count; ++k) {
      while (member.wanted.load(std::memory_order_acquire) != 0) {
        std::this_thread::yield();
      }
      const ShortMutex::Held held(&member.mutex);
      done += member.follower.follow(member.lanes.first + k, kEventsAtOnce);
    }
    idle = done != 0 ? 0 : idle + 1;
    if (idle >= kIdleLooks) {
      sleep(member);
      idle = 0;
    } else if (idle % kLooksInARow == kLooksInARow - 1) {
      std::this_thread::yield();
    }
  }
}

void Followers::sleep(Member& member) {
  std::unique_lock lock(member.sleep_mutex);
  if (stopping_.load(std::memory_order_acquire)) {
    return;
  }
  member.asleep.store(true, std::memory_order_relaxed);
  member.wakes.wait(lock, [&member] { return !member.asleep.load(std::memory_order_relaxed); });
}

ShortMutex::Held Followers::hold(std::uint32_t lane) const {
  Member& member = *members_[lane / lanes_each_];
  member.wanted.fetch_add(1, std::memory_order_acq_rel);
  ShortMutex::Held held(&member.mutex);
  member.wanted.fetch_sub(1, std::memory_order_acq_rel);
  return held;
}

std::uint32_t Followers::help(std::uint32_t lane, std::uint32_t most) const {
  Member& member = *members_[lane / lanes_each_];
  const ShortMutex::Held held = ShortMutex::Held::of_free(member.mutex);
  const std::uint32_t done = held.has() ? member.follower.follow(lane, most) : 0;
  member.helped += done;
  return done;
}

void Followers::wake_helped(std::uint64_t now_ms) {
  const bool next = std::exchange(helped_ms_, now_ms) != now_ms;
  for (const auto& member : members_) {
    if (member->helped >= kWorthWaking) {
      wake(*member);
      member->helped = 0;
    }
    member->helped = next ? 0 : member->helped;
  }
}

void Followers::wake(Member& member) {
  if (!member.asleep.load(std::memory_order_relaxed)) {
    return;
  }
  {
    const std::lock_guard lock(member.sleep_mutex);
    member.asleep.store(false, std::memory_order_relaxed);
  }
  member.wakes.notify_one();
}

void Followers::set_time(Tick now) const {
  for (const auto& member : members_) {
    member->follower.set_time(now);
  }
}

// Who follows now does so by what it read before: whoever has had the follower once has seen the
// end of that.
void Followers::leave_all(bool left) const {
  for (const auto& member : members_) {
    member->follower.leave_all(left);
  }
  for (const auto& member : members_) {
    static_cast<void>(hold(member->lanes.first));
  }
}

const Status* Followers::failure() const {
  for (const auto& member : members_) {
    if (member->follower.failed()) {
      return &member->follower.failure();
    }
  }
  return nullptr;
}

Follower::Counts Followers::counts() const {
  Follower::Counts all;
  for (const auto& member : members_) {
    const Follower::Counts one = member->follower.counts();
    all.ahead += one.ahead;
    all.ahead_most = std::max(all.ahead_most, one.ahead_most);
    all.full += one.full;
    all.applied += one.applied;
  }
  return all;
}

}  // namespace gcoord::server
