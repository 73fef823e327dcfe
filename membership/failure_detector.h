// Phi accrual failure detector: a suspicion level from the arrival times of heartbeats
// (Hayashibara, Defago, Yared, Katayama, "The phi accrual failure detector", SRDS 2004, section 4).
//
// phi = -log10(P_later(t)), where t is the time since the last heartbeat and P_later the chance
// that one comes later than that, were intervals normally distributed with the mean and the
// variance of the last ones. So who suspects at phi 1 is wrong once in 10 times, at 3 once in
// 1,000. It rises with every tick of silence, slowly where heartbeats came irregularly. As Akka's
// detector it keeps the deviation above a least one, so that a row of regular heartbeats makes no
// tick of delay suspicious, and begins with an expected interval.
//
// For people to look at: nothing is decided by it (docs/adr/0057). Pure; sums are of integers, so
// nothing drifts. Memory is allocated by the constructor alone. One thread.
#pragma once

#include "common/assert.h"
#include "common/ids.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::membership {

struct FailureDetectorOptions {
  std::uint32_t interval_ticks = 0;  // Expected, until intervals were seen; above 0.
  double deviation_ticks_min = 1.0;  // Above 0.
  std::uint32_t lapse_ticks = 0;     // A silence of so long is an outage, and no interval.
  std::size_t window = 200;          // Intervals that count: 20 s of heartbeats by default.
};

class FailureDetector {
 public:
  // Where erfc has no more numbers: one wrong suspicion in 10^300.
  static constexpr double kPhiMax = 300.0;

  explicit FailureDetector(const FailureDetectorOptions& options) : options_(options) {
    GCOORD_ASSERT(options.interval_ticks > 0);
    GCOORD_ASSERT(options.deviation_ticks_min > 0);
    GCOORD_ASSERT(options.window > 0);
    intervals_.reserve(options.window);
    forget();
  }

  // A heartbeat came. Intervals of 0, of two that came in one turn, count as any other.
  void on_heartbeat(Tick now) {
    if (heard_ && now - last_ < options_.lapse_ticks) {
      add(static_cast<std::uint32_t>(now - last_));
    }
    heard_ = true;
    last_ = now;
  }

  // Another life of the node: its intervals are its own.
  void forget() {
    intervals_.clear();
    oldest_ = 0;
    sum_ = 0;
    sum_of_squares_ = 0;
    heard_ = false;
    add(options_.interval_ticks);
  }

  double mean() const { return static_cast<double>(sum_) / count(); }

  // The standard deviation, not below the least one.
  double deviation() const {
    const double variance = static_cast<double>(sum_of_squares_) / count() - mean() * mean();
    return std::max(std::sqrt(std::max(variance, 0.0)), options_.deviation_ticks_min);
  }

  // 0 before the first heartbeat, of which nothing is known; never above kPhiMax.
  double phi(Tick now) const {
    if (!heard_ || now < last_) {
      return 0.0;
    }
    const double late = (static_cast<double>(now - last_) - mean()) / deviation();
    const double later = 0.5 * std::erfc(late / std::sqrt(2.0));
    // -log10(1) is a negative zero.
    return later > 0 ? std::clamp(-std::log10(later), 0.0, kPhiMax) : kPhiMax;
  }

 private:
  double count() const { return static_cast<double>(intervals_.size()); }

  void add(std::uint32_t interval) {
    if (intervals_.size() < options_.window) {
      intervals_.push_back(interval);
    } else {
      const std::uint64_t gone = intervals_[oldest_];
      sum_ -= gone;
      sum_of_squares_ -= gone * gone;
      intervals_[oldest_] = interval;
      oldest_ = (oldest_ + 1) % options_.window;
    }
    sum_ += interval;
    sum_of_squares_ += std::uint64_t{interval} * interval;
  }

  FailureDetectorOptions options_;
  std::vector<std::uint32_t> intervals_;  // A ring once it is full.
  std::size_t oldest_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t sum_of_squares_ = 0;
  bool heard_ = false;
  Tick last_;
};

// As it is told: in thousandths, rounded.
inline std::uint32_t phi_milli(double phi) {
  return static_cast<std::uint32_t>(std::lround(phi * 1000.0));
}

}  // namespace gcoord::membership
