// A circuit breaker for one endpoint: closed, open, half-open (Nygard, "Release It!", 2nd edition,
// section 5.2).
//
// Closed: everything goes through. It opens when something fails so often in a row, or at once
// when there is nothing left to send on (trip). Open: nothing goes through until a jittered pause
// is over, which doubles each time that it opens again. Half-open: one probe is on its way; its
// success closes the breaker, its failure opens it anew, and without either for the longest pause
// another one may go. Answers that come while it is open are to earlier requests and say nothing of
// now.
//
// Pure: the time is a parameter, randomness is counter-based. One thread.
#pragma once

#include "client/net/backoff.h"
#include "gcoord/types.h"

#include <cstdint>

namespace gcoord::client {

struct BreakerOptions {
  std::uint32_t failures = 0;  // In a row that open it; 0: it opens by trip() alone.
  TimePoint pause_min{};
  TimePoint pause_max{};
  std::uint64_t seed = 0;  // Of the jitter: another one for each endpoint.
};

class CircuitBreaker {
 public:
  explicit CircuitBreaker(const BreakerOptions& options)
      : options_(options),
        backoff_({.min = options.pause_min, .max = options.pause_max, .seed = options.seed}) {}

  BreakerState state() const { return state_; }

  bool closed() const { return state_ == BreakerState::Closed; }

  // Whether something may be sent now: as ever, or as the probe.
  bool admits(TimePoint now) const { return closed() || now >= next_probe_; }

  // While it is not closed: when it admits the next one.
  TimePoint next_probe() const { return next_probe_; }

  // Something is on its way. A request that was not admitted is no probe.
  void on_request(TimePoint now) {
    if (!closed() && admits(now)) {
      state_ = BreakerState::HalfOpen;
      next_probe_ = now + options_.pause_max;
    }
  }

  // True: it was half-open, and this closed it.
  bool on_success() {
    const bool probed = state_ == BreakerState::HalfOpen;
    if (state_ != BreakerState::Open) {
      state_ = BreakerState::Closed;
      failures_ = 0;
      openings_ = 0;
    }
    return probed;
  }

  void on_failure(TimePoint now) {
    failures_ += closed() ? 1 : 0;
    const bool enough = options_.failures != 0 && failures_ >= options_.failures;
    if (state_ == BreakerState::HalfOpen || (closed() && enough)) {
      trip(now);
    }
  }

  // Opens, in whatever state it is.
  void trip(TimePoint now) {
    state_ = BreakerState::Open;
    failures_ = 0;
    next_probe_ = now + backoff_.pace(openings_);
    ++openings_;
  }

 private:
  BreakerOptions options_;
  Backoff backoff_;
  BreakerState state_ = BreakerState::Closed;
  std::uint32_t failures_ = 0;  // In a row, while it is closed.
  std::uint32_t openings_ = 0;  // Since it was last closed.
  TimePoint next_probe_{};
};

}  // namespace gcoord::client
