#include "server/platform/boot_time.h"

#include "protocol/error_codes.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>

namespace gcoord::server {

std::uint64_t boot_time_us() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000u;
}

std::uint64_t SteadyTime::read() {
  const std::uint64_t seen_us = clock_us_();
  if (seen_us < now_us_ && back_us_ == 0) {
    back_us_ = now_us_ - seen_us;
  }
  now_us_ = std::max(now_us_, seen_us);
  return now_us_;
}

Status SteadyTime::failure() const {
  return back_us_ == 0 ? Status{}
                       : protocol::make_error(
                             protocol::ErrorCode::ClockBackward,
                             fmt::format("by {:.3f} ms", static_cast<double>(back_us_) / 1000));
}

std::uint64_t wall_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return ms > 0 ? static_cast<std::uint64_t>(ms) : 0;
}

}  // namespace gcoord::server
