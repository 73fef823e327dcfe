#include "server/host_turn/turn_threads.h"

#include "common/host/processors.h"
#include "common/host/thread_name.h"

#include <chrono>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using Clock = std::chrono::steady_clock;

// For how long a thread looks for the next turn, and the owner for the last lane: somewhat longer
// than waking a thread of an idle processor takes.
constexpr std::chrono::microseconds kLook{150};
// Looks between two looks at the clock.
constexpr int kLooksPerClock = 32;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Whether it is ready, now or within the time to look.
template <typename Ready>
bool look(bool looks, Ready&& ready) {
  if (ready() || !looks) {
    return ready();
  }
  const auto begun = Clock::now();
  do {
    for (int k = 0; k < kLooksPerClock; ++k) {
      relax();
      if (ready()) {
        return true;
      }
    }
  } while (Clock::now() - begun < kLook);
  return ready();
}

}  // namespace

TurnThreads::TurnThreads(Options options, std::function<void(std::uint32_t lane)> job)
    : options_(std::move(options)),
      job_(std::move(job)),
      may_look_(usable_processors() >= 2 * options_.lane_count),
      busy_(options_.lane_count) {
  for (std::uint32_t lane = 1; lane < options_.lane_count; ++lane) {
    threads_.emplace_back([this, lane] {
      name_this_thread("turn-" + std::to_string(lane));
      work(lane);
    });
  }
}

TurnThreads::~TurnThreads() {
  ends_.store(true, std::memory_order_relaxed);
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void TurnThreads::run() {
  for (std::uint32_t lane = 1; lane < options_.lane_count; ++lane) {
    busy_[lane].store(true, std::memory_order_relaxed);
  }
  left_.store(options_.lane_count - 1, std::memory_order_relaxed);
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  job_(0);
  await_lanes();
}

void TurnThreads::work(std::uint32_t lane) {
  std::uint32_t seen = 0;
  bool looks = false;  // The last turn came soon.
  for (;;) {
    const auto idle_since = Clock::now();
    seen = await_turn(seen, looks && may_look_);
    looks = Clock::now() - idle_since < 2 * kLook;
    if (ends_.load(std::memory_order_relaxed)) {
      return;
    }
    job_(lane);
    busy_[lane].store(false, std::memory_order_relaxed);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::lock_guard lock(mutex_);
      met_.notify_one();
    }
  }
}

std::uint32_t TurnThreads::await_turn(std::uint32_t seen, bool looks) {
  const auto comes = [&] { return turn_.load(std::memory_order_acquire) != seen; };
  if (!look(looks, comes)) {
    turn_.wait(seen, std::memory_order_acquire);
  }
  return turn_.load(std::memory_order_acquire);
}

void TurnThreads::await_lanes() {
  if (look(may_look_, [this] { return done(); })) {
    return;
  }
  constexpr auto kWait = std::chrono::milliseconds(20);
  std::chrono::milliseconds waited{0};
  std::unique_lock lock(mutex_);
  while (!done()) {
    const auto begun = Clock::now();
    met_.wait_for(lock, kWait, [this] { return done(); });
    // A wait that took much longer says that this process did not run, not that a lane hangs.
    waited += Clock::now() - begun < 3 * kWait ? kWait : std::chrono::milliseconds{0};
    if (!done() && waited.count() >= static_cast<std::int64_t>(options_.stuck_ms)) {
      waited = {};
      for (std::uint32_t lane = 1; lane < options_.lane_count; ++lane) {
        if (busy_[lane].load(std::memory_order_relaxed) && options_.on_stuck) {
          options_.on_stuck(lane);
          break;
        }
      }
    }
  }
}

}  // namespace gcoord::server
