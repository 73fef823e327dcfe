// The clocks of a node. What it decides is by CLOCK_BOOTTIME alone, which counts the time a machine
// was suspended, as leases must. Thread-safe.
#pragma once

#include "common/status.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace gcoord::server {

// Microseconds since the machine started. The kernel promises that it never goes back; SteadyTime
// finds a machine where it does.
std::uint64_t boot_time_us();

// A clock that is held to its promise: what read() returns only grows, and a clock that went back,
// as after a hypervisor's mistake, stands still and is a failure for good. One thread.
class SteadyTime {
 public:
  explicit SteadyTime(std::function<std::uint64_t()> clock_us = boot_time_us)
      : clock_us_(std::move(clock_us)), start_us_(clock_us_()), now_us_(start_us_) {}

  // Microseconds of the clock.
  std::uint64_t read();

  // Since the object was made.
  std::uint64_t elapsed_ms() { return (read() - start_us_) / 1000; }

  // Ok, or ClockBackward with how far the clock went back at first: then nothing may stand on a
  // lease any more.
  Status failure() const;

 private:
  std::function<std::uint64_t()> clock_us_;
  std::uint64_t start_us_;
  std::uint64_t now_us_;
  std::uint64_t back_us_ = 0;  // 0: it never went back.
};

// Unix milliseconds of the wall clock: for people to read. No decision depends on it.
std::uint64_t wall_ms();

}  // namespace gcoord::server
