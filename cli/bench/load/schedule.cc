#include "cli/bench/load/schedule.h"

#include <algorithm>

namespace gcoord::cli {

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

Schedule::Schedule(std::uint32_t rate, std::chrono::milliseconds length)
    : rate_(rate),
      count_(std::max<std::uint64_t>(
          1, unbounded_due_by(std::chrono::nanoseconds{length} - std::chrono::nanoseconds{1}))) {}

// By whole seconds first: number * 10^9 would not fit into 64 bits on a long run.
std::chrono::nanoseconds Schedule::due_at(std::uint64_t number) const {
  const std::uint64_t whole = number / rate_ * kSecond;
  const std::uint64_t part = number % rate_ * kSecond / rate_;
  return std::chrono::nanoseconds{static_cast<std::int64_t>(whole + part)};
}

// Of a second that is `part` nanoseconds old, operation r is due when r * 10^9 < (part + 1) * rate.
std::uint64_t Schedule::unbounded_due_by(std::chrono::nanoseconds after_start) const {
  if (after_start.count() < 0) {
    return 0;
  }
  const auto time = static_cast<std::uint64_t>(after_start.count());
  const std::uint64_t part = (time % kSecond + 1) * rate_;
  return time / kSecond * rate_ + (part + kSecond - 1) / kSecond;
}

std::uint64_t Schedule::due_by(std::chrono::nanoseconds after_start) const {
  return std::min(count_, unbounded_due_by(after_start));
}

}  // namespace gcoord::cli
