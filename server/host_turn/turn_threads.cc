#include "server/host_turn/turn_threads.h"

#include <chrono>
#include <utility>

namespace gcoord::server {
namespace {

// Looks before a thread sleeps: some 20 us, less than it takes to wake it.
constexpr std::uint32_t kLooks = 400;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

template <typename Ready>
bool look(bool spins, Ready&& ready) {
  for (std::uint32_t k = 0; spins && k < kLooks; ++k) {
    if (ready()) {
      return true;
    }
    relax();
  }
  return ready();
}

}  // namespace

TurnThreads::TurnThreads(Options options, std::function<void(std::uint32_t lane)> job)
    : options_(std::move(options)),
      job_(std::move(job)),
      spins_(std::thread::hardware_concurrency() >= options_.lane_count),
      busy_(options_.lane_count) {
  for (std::uint32_t lane = 1; lane < options_.lane_count; ++lane) {
    threads_.emplace_back([this, lane] { work(lane); });
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
  for (;;) {
    seen = await_turn(seen);
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

std::uint32_t TurnThreads::await_turn(std::uint32_t seen) {
  const auto comes = [&] { return turn_.load(std::memory_order_acquire) != seen; };
  if (!look(spins_, comes)) {
    turn_.wait(seen, std::memory_order_acquire);
  }
  return turn_.load(std::memory_order_acquire);
}

void TurnThreads::await_lanes() {
  if (look(spins_, [this] { return done(); })) {
    return;
  }
  using Clock = std::chrono::steady_clock;
  constexpr auto kWait = std::chrono::milliseconds(20);
  std::chrono::milliseconds waited{0};
  std::unique_lock lock(mutex_);
  while (!done()) {
    const auto begun = Clock::now();
    met_.wait_for(lock, kWait, [this] { return done(); });
    // A wait that took much longer says that this process did not run, not that a lane hangs.
    waited = Clock::now() - begun < 3 * kWait ? waited + kWait : std::chrono::milliseconds{0};
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
