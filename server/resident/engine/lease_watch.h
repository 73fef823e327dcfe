// Comparison of the device's clock with the host's, for leases that count by the device's.
//
// A lease is safe while clocks differ by less than its margin within an election timeout
// (consensus/step/liveness.h). No node can measure another's clock that closely, but it has two of
// its own: where they drift apart by half of the margin, one of them is wrong, and nobody knows
// which. Then reads go by rounds, which trust no clock, until the two agree again. How far the host
// is ahead is known by the tick in an answer of the device and the time at which it came; an answer
// comes late, never early, so the least of a window counts.
//
// That is found a window later. A clock that stands still meanwhile is found at once: its lease
// answers come later than the others of late, so one that comes later by half of the margin proves
// nothing. To be compared with, an answer must be young, or clocks that are both good have drifted
// apart since, and one must be older than any lease. One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/liveness.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace gcoord::server {

// Of which the least lags are compared. Long enough that ticks and late answers are small beside
// what a margin is of it.
inline constexpr std::uint64_t kLeaseWindowUs = 10'000'000;

class LeaseWatch {
 public:
  LeaseWatch(std::uint64_t tick_us, const consensus::Timing& timing)
      : tick_us_(tick_us), timing_(timing) {}

  // An answer that the device gave in `tick` of its clock has come by now. What no clock says is
  // not believed.
  void note(Tick tick, std::uint64_t now_us) {
    if (tick.value > kTickMost) {
      return;
    }
    const std::int64_t lag = lag_of(tick, now_us);
    if (!window_.has_value()) {
      window_ = Window{now_us, lag};
    }
    window_->lag_least = std::min(window_->lag_least, lag);
    compare_later_with(now_us, lag);
    if (now_us - window_->begin_us >= kLeaseWindowUs) {
      close(now_us, lag);
    }
  }

  // Whether the clocks agreed when they were compared last, or were not compared yet.
  bool trusts() const { return trusts_; }

  // Whether leases may be asked for at all: there are answers that one can be compared with.
  bool may_lease(std::uint64_t now_us) const {
    const Window* const oldest = oldest_young(now_us);
    return trusts_ && oldest != nullptr &&
           now_us - oldest->begin_us >= timing_.election_ticks * tick_us_;
  }

  // Whether an answer under the lease that the device gave in `tick`, and which comes now, is one.
  // Before note() of it.
  bool proves(Tick tick, std::uint64_t now_us) const {
    if (tick.value > kTickMost || !may_lease(now_us)) {
      return false;
    }
    std::int64_t least = recent_->lag_least;
    least = std::min(least, oldest_young(now_us)->lag_least);
    const std::uint64_t borne_us = (timing_.lease_margin_ticks / 2 + 2) * tick_us_;
    return lag_of(tick, now_us) - least <= static_cast<std::int64_t>(borne_us);
  }

  // Times that they ceased to.
  std::uint64_t doubts() const { return doubts_; }

 private:
  struct Window {
    std::uint64_t begin_us = 0;
    std::int64_t lag_least = 0;
  };

  static constexpr std::uint64_t kTickMost = std::uint64_t{1} << 40;

  std::int64_t lag_of(Tick tick, std::uint64_t now_us) const {
    return static_cast<std::int64_t>(now_us) - static_cast<std::int64_t>(tick.value * tick_us_);
  }

  // In two halves, so that what is older than a window can be dropped.
  void compare_later_with(std::uint64_t now_us, std::int64_t lag) {
    if (!recent_.has_value() || now_us - recent_->begin_us >= kLeaseWindowUs / 2) {
      earlier_ = recent_;
      recent_ = Window{now_us, lag};
    }
    recent_->lag_least = std::min(recent_->lag_least, lag);
  }

  // The older half that is still young; nullptr: none is.
  const Window* oldest_young(std::uint64_t now_us) const {
    const auto young = [now_us](const std::optional<Window>& half) {
      return half.has_value() && now_us - half->begin_us < kLeaseWindowUs;
    };
    return young(earlier_) ? &*earlier_ : young(recent_) ? &*recent_ : nullptr;
  }

  void close(std::uint64_t now_us, std::int64_t lag) {
    if (before_.has_value()) {
      const std::int64_t apart = window_->lag_least - before_->lag_least;
      const std::uint64_t drift_us = static_cast<std::uint64_t>(apart < 0 ? -apart : apart);
      const std::uint64_t passed_us = window_->begin_us - before_->begin_us;
      const std::uint64_t borne_us =
          passed_us / 2 * timing_.lease_margin_ticks / timing_.election_ticks;
      const bool trusted = std::exchange(trusts_, drift_us <= borne_us + 2 * tick_us_);
      doubts_ += trusted && !trusts_ ? 1 : 0;
    }
    before_ = window_;
    window_ = Window{now_us, lag};
  }

  std::uint64_t tick_us_;
  consensus::Timing timing_;
  std::optional<Window> window_;
  std::optional<Window> before_;
  std::optional<Window> recent_;   // What lease answers are compared with,
  std::optional<Window> earlier_;  // and what was so before.
  bool trusts_ = true;
  std::uint64_t doubts_ = 0;
};

}  // namespace gcoord::server
