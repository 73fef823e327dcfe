// A host thread's wait for what a device does, for a bounded time.
//
// A device that is dead answers no more, and the loop that asks it has to live on to say so and to
// end its node. So whoever waits looks again and again and gives up at a limit; no call is made
// that returns only when a device has done something. Host only; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace gcoord {

// As long as a batch may take under the host's turn (GC7102): a device that is shared in slices of
// time stands still for milliseconds, not seconds.
inline constexpr std::uint32_t kDeviceWaitMs = 2000;

// How a wait looks: so many times without a pause, each about a microsecond, and then with a pause
// between two looks, to which the kernel adds its timer slack of 50 us.
struct DevicePace {
  std::uint32_t spin_looks = 0;
  long pause_ns = 0;
};

// Longer than a copy of a few words takes.
inline constexpr DevicePace kCopyPace{64, 10'000};
// Longer than a batch takes.
inline constexpr DevicePace kBatchPace{500, 50'000};

inline std::uint64_t steady_now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// Calls `is_done` until it says true. False: it never did within the limit, by `now_us()`.
template <typename NowUs, typename IsDone>
bool wait_for_device(std::uint32_t limit_ms,
                     const DevicePace& pace,
                     const NowUs& now_us,
                     const IsDone& is_done) {
  const std::uint64_t until_us = now_us() + std::uint64_t{limit_ms} * 1000;
  for (std::uint32_t look = 0;; look = look < pace.spin_looks ? look + 1 : look) {
    // The time first: whoever was stopped itself finds the work done.
    const bool late = now_us() >= until_us;
    if (is_done()) {
      return true;
    }
    if (late) {
      return false;
    }
    if (look == pace.spin_looks) {
      const std::timespec pause{0, pace.pause_ns};
      ::nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace gcoord
