// Token bucket: at most `burst` requests at once, and `rate` a second in the long run.
//
// Tokens are counted in millionths, so that nothing is lost by rounding: in t microseconds exactly
// t * rate of them come in. Time is a parameter, in microseconds that only grow; one that goes back
// gives nothing. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gcoord::server {

class TokenBucket {
 public:
  // Full at `now_us`.
  TokenBucket(std::uint64_t burst, std::uint64_t now_us)
      : millionths_(burst * kToken), at_us_(now_us) {}

  struct Rate {
    std::uint64_t per_second = 0;  // At most 100,000,000 (security/limits/limit_table.h), not 0.
    std::uint64_t burst = 0;       // The same.
  };

  // Takes one if there is one. The rate may be another one than before: what is in the bucket stays
  // as far as the new burst allows.
  bool take(const Rate& rate, std::uint64_t now_us) {
    fill(rate, now_us);
    if (millionths_ < kToken) {
      return false;
    }
    millionths_ -= kToken;
    return true;
  }

  // Milliseconds until there is one, as of the last take(); rounded up, at least 1.
  std::uint64_t wait_ms(const Rate& rate) const {
    const std::uint64_t missing = kToken - std::min(kToken, millionths_);
    const std::uint64_t wait_us = (missing + rate.per_second - 1) / rate.per_second;
    return std::max<std::uint64_t>(1, (wait_us + 999) / 1000);
  }

  // Whether it is as a new one would be.
  bool is_full(const Rate& rate, std::uint64_t now_us) {
    fill(rate, now_us);
    return millionths_ == rate.burst * kToken;
  }

 private:
  static constexpr std::uint64_t kToken = 1'000'000;

  void fill(const Rate& rate, std::uint64_t now_us) {
    const std::uint64_t full = rate.burst * kToken;
    const std::uint64_t passed_us = now_us - std::min(now_us, at_us_);
    at_us_ = std::max(at_us_, now_us);
    millionths_ = std::min(millionths_, full);
    const std::uint64_t missing = full - millionths_;
    // Compared before it is multiplied: a bucket that was left alone for years overflows nothing.
    const bool fills = passed_us >= missing / rate.per_second + 1;
    millionths_ = fills ? full : std::min(full, millionths_ + passed_us * rate.per_second);
  }

  std::uint64_t millionths_;
  std::uint64_t at_us_;
};

}  // namespace gcoord::server
