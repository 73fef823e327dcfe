// A host thread's wait for what a device does, for a bounded time.
//
// A device that is dead answers no more, and the loop that asks it has to live on to say so and to
// end its node. So whoever waits looks again and again and gives up at a limit; no call is made
// that returns only when a device has done something. Host only; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace gcoord::netcore {

// As long as a batch may take under the host's turn (GC7102): a device that is shared in slices of
// time stands still for milliseconds, not seconds.
inline constexpr std::uint32_t kDeviceWaitMs = 2000;

// Looks without a pause, each about a microsecond: longer than a copy of a few words takes.
inline constexpr std::uint32_t kDeviceSpinLooks = 64;
// Then a pause between two looks. The kernel adds its timer slack, 50 us.
inline constexpr long kDevicePauseNs = 10'000;

// Calls `is_done` until it says true. False: it never did within the limit.
template <typename IsDone>
bool wait_for_device(std::uint32_t limit_ms, IsDone&& is_done) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds{limit_ms};
  for (std::uint32_t look = 0;; look = look < kDeviceSpinLooks ? look + 1 : look) {
    // The time first: whoever was stopped itself finds the work done.
    const bool late = Clock::now() >= until;
    if (is_done()) {
      return true;
    }
    if (late) {
      return false;
    }
    if (look == kDeviceSpinLooks) {
      const std::timespec pause{0, kDevicePauseNs};
      ::nanosleep(&pause, nullptr);
    }
  }
}

}  // namespace gcoord::netcore
