// clock_gettime as the nemesis would have it: a clock that runs fast or slow, a wall clock that is
// hours off. CLOCK_MONOTONIC is left alone: waits of threads are measured on it, and they end by
// it.
#include "chaos/live/shim/shim_state.h"

#include <dlfcn.h>
#include <time.h>

#include <cstdint>

namespace gcoord::chaos {

namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

using ClockCall = int (*)(clockid_t, timespec*);

ClockCall real_clock() {
  static const auto call = reinterpret_cast<ClockCall>(::dlsym(RTLD_NEXT, "clock_gettime"));
  return call;
}

// What the drifting clock shows; the same as the real one without a rate.
std::int64_t drifted(const ShimControl& control, std::int64_t real_ns) {
  for (;;) {
    // Acquire: pairs with the nemesis's release of an even number after a change.
    const std::uint32_t before = control.clock_sequence.load(std::memory_order_acquire);
    const std::int64_t rate = control.rate_millionths.load(std::memory_order_relaxed);
    const std::int64_t real_base = control.real_base_ns.load(std::memory_order_relaxed);
    const std::int64_t shown_base = control.shown_base_ns.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if ((before & 1u) == 0 && before == control.clock_sequence.load(std::memory_order_relaxed)) {
      return rate == 0 ? real_ns
                       : shown_base + (real_ns - real_base) / 1'000'000 * rate +
                             (real_ns - real_base) % 1'000'000 * rate / 1'000'000;
    }
  }
}

void set(timespec* out, std::int64_t ns) {
  out->tv_sec = ns / kSecondNs;
  out->tv_nsec = ns % kSecondNs;
}

int shown_time(clockid_t clock, timespec* out) {
  const int result = real_clock()(clock, out);
  if (result != 0 || (clock != CLOCK_BOOTTIME && clock != CLOCK_REALTIME)) {
    return result;
  }
  ShimControl* control = ShimState::of_process().control();
  if (control == nullptr) {
    return result;
  }
  const std::int64_t real_ns = out->tv_sec * kSecondNs + out->tv_nsec;
  const std::int64_t shown_ns =
      clock == CLOCK_BOOTTIME ? drifted(*control, real_ns)
                              : real_ns + control->wall_offset_ns.load(std::memory_order_relaxed);
  if (shown_ns != real_ns) {
    control->clock_reads_changed.fetch_add(1, std::memory_order_relaxed);
    set(out, shown_ns);
  }
  return result;
}

}  // namespace

}  // namespace gcoord::chaos

extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  return gcoord::chaos::shown_time(clock, out);
}
