// Budget of a thing that somebody else can cause again and again: some at once, then so many in a
// second.
//
// Pure; times in milliseconds of one clock that only grows. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::server {

class EventBudget {
 public:
  EventBudget(std::uint32_t at_once, std::uint32_t per_second)
      : left_(std::uint64_t{at_once} * 1000), most_(left_), per_second_(per_second) {}

  // Whether there may be one more now.
  bool take(std::uint64_t now_ms) {
    const std::uint64_t since = now_ms - std::min(now_ms, now_ms_);
    left_ = std::min(most_, left_ + std::min<std::uint64_t>(since, 60'000) * per_second_);
    now_ms_ = std::max(now_ms, now_ms_);
    if (left_ < 1000) {
      return false;
    }
    left_ -= 1000;
    return true;
  }

 private:
  std::uint64_t left_;  // In thousandths.
  std::uint64_t most_;
  std::uint32_t per_second_;
  std::uint64_t now_ms_ = 0;
};

}  // namespace gcoord::server
