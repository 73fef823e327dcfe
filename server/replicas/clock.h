// The engine's time: microseconds of a clock that counts suspended time, cut into ticks.
//
// Tick 1 begins when the clock is made; 0 stays free to mean "never". `read` is called once per
// turn, after polling (host_replicas.h); everything else speaks of that moment. One thread.
#pragma once

#include "common/assert.h"
#include "common/ids.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace gcoord::server {

class ReplicaClock {
 public:
  ReplicaClock(std::function<std::uint64_t()> clock_us, std::uint32_t tick_ms)
      : clock_us_(std::move(clock_us)),
        tick_us_(std::uint64_t{tick_ms} * 1000),
        start_us_(clock_us_()),
        now_us_(start_us_) {
    GCOORD_ASSERT(tick_us_ > 0);
  }

  // Looks at the clock. A clock that goes back, which CLOCK_BOOTTIME never does, stands still here.
  Tick read() {
    now_us_ = std::max(now_us_, clock_us_());
    return tick();
  }

  Tick tick() const { return tick_of(now_us_); }

  std::uint64_t now_us() const { return now_us_; }

  std::uint64_t now_ms() const { return now_us_ / 1000; }

  // The present moment, without moving tick().
  std::uint64_t peek_us() const { return std::max(now_us_, clock_us_()); }

  // The tick of the present moment, likewise.
  Tick peek_tick() const { return tick_of(peek_us()); }

  // When a tick begins.
  std::uint64_t begin_us(Tick tick) const {
    GCOORD_ASSERT(tick.value > 0);
    return start_us_ + (tick.value - 1) * tick_us_;
  }

 private:
  Tick tick_of(std::uint64_t now_us) const { return Tick{(now_us - start_us_) / tick_us_ + 1}; }

  std::function<std::uint64_t()> clock_us_;
  std::uint64_t tick_us_;
  std::uint64_t start_us_;
  std::uint64_t now_us_;
};

}  // namespace gcoord::server
