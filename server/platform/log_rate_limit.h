// A rate limit for lines of the log that somebody else can cause again and again.
//
// A few lines are said at once, and then one in a while. Pure; times in milliseconds of one clock
// that only grows. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::server {

class LogRateLimit {
 public:
  static constexpr std::uint32_t kAtOnce = 4;
  static constexpr std::uint64_t kPauseMs = 10'000;

  // Whether to say one more now. What is not said is counted.
  bool may_log(std::uint64_t now_ms) {
    const std::uint64_t earned = (now_ms - std::min(now_ms, since_ms_)) / kPauseMs;
    said_ -= static_cast<std::uint32_t>(std::min<std::uint64_t>(said_, earned));
    since_ms_ = said_ == 0 ? now_ms : since_ms_ + earned * kPauseMs;
    if (said_ == kAtOnce) {
      ++unsaid_;
      return false;
    }
    ++said_;
    return true;
  }

  // How many were not said since this was last asked.
  std::uint64_t take_unsaid() {
    const std::uint64_t unsaid = unsaid_;
    unsaid_ = 0;
    return unsaid;
  }

 private:
  std::uint64_t since_ms_ = 0;  // When the oldest that counts was said, moved on by pauses.
  std::uint32_t said_ = 0;
  std::uint64_t unsaid_ = 0;
};

}  // namespace gcoord::server
