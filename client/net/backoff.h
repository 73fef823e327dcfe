// Retry delays: exponential back-off with jitter, limited by a budget.
//
// Delays double from min to max; a random part spreads clients that failed together (Brooker,
// "Exponential Backoff and Jitter", AWS 2015). Every retry takes one from the budget, ten successes
// give one back; without budget every delay is the longest, so that retries never make up more than
// a tenth of a busy cluster's load for long. Randomness is counter-based. One thread.
#pragma once

#include "common/random.h"
#include "gcoord/options.h"

#include <algorithm>
#include <cstdint>

namespace gcoord::client {

struct BackoffOptions {
  TimePoint min{};
  TimePoint max{};
  std::uint32_t budget = 0;
  std::uint64_t seed = 0;
};

class Backoff {
 public:
  explicit Backoff(const BackoffOptions& options)
      : options_(options), budget_tenths_(std::uint64_t{options.budget} * kTenths) {}

  // How long to wait before attempt + 1; attempt counts from 0.
  TimePoint delay(std::uint32_t attempt) {
    if (budget_tenths_ < kTenths) {
      return jittered(options_.max);
    }
    budget_tenths_ -= kTenths;
    return pace(attempt);
  }

  // The same without the budget: for connections, whose number is small.
  TimePoint pace(std::uint32_t attempt) {
    // 2^20 times the shortest delay is above any longest one.
    const TimePoint doubled = options_.min * (std::int64_t{1} << std::min(attempt, 20u));
    return jittered(std::min(doubled, options_.max));
  }

  void on_success() {
    budget_tenths_ = std::min(budget_tenths_ + 1, std::uint64_t{options_.budget} * kTenths);
  }

 private:
  static constexpr std::uint64_t kTenths = 10;

  // Between half and all of it: never at once, never all together.
  TimePoint jittered(TimePoint longest) {
    ++counter_;
    const std::uint32_t part = random_below(random64(options_.seed, 0, counter_), 1024);
    return longest / 2 + longest * part / 2048;
  }

  BackoffOptions options_;
  std::uint64_t budget_tenths_;
  std::uint64_t counter_ = 0;
};

}  // namespace gcoord::client
