// Times at which the operations of an open loop are due: operation k at k / rate seconds after the
// start, whatever became of those before it.
//
// Latency counts from there, so a cluster that stalls is charged for every operation that should
// have begun meanwhile (Tene: How NOT to Measure Latency; "coordinated omission"). Pure.
#pragma once

#include <chrono>
#include <cstdint>

namespace gcoord::cli {

class Schedule {
 public:
  // `rate` per second, 1 to 1,000,000, for `length`.
  Schedule(std::uint32_t rate, std::chrono::milliseconds length);

  // Operations that are due in the whole run, at least one.
  std::uint64_t count() const { return count_; }

  // When operation `number`, from 0 on, is due: time after the start, rounded down.
  std::chrono::nanoseconds due_at(std::uint64_t number) const;

  // How many operations are due at this time after the start or before; at most count().
  std::uint64_t due_by(std::chrono::nanoseconds after_start) const;

 private:
  std::uint64_t unbounded_due_by(std::chrono::nanoseconds after_start) const;

  std::uint32_t rate_;
  std::uint64_t count_;
};

// The operations of one schedule that one of `threads` threads begins: thread, thread + threads...
struct ScheduleShare {
  std::uint32_t thread = 0;
  std::uint32_t threads = 1;

  // How many of the first `due` operations are of this share.
  std::uint64_t of(std::uint64_t due) const {
    return due > thread ? (due - thread + threads - 1) / threads : 0;
  }

  // The number in the schedule of operation `index` of this share.
  std::uint64_t number(std::uint64_t index) const { return thread + index * threads; }
};

}  // namespace gcoord::cli
