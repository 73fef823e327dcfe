// The health of a node, written by its loop and read by any thread.
//
// Live: the loop has turned lately. Ready: it is live and every check that is required holds. A
// reader decides "lately" by its own look at the clock, so that a loop that stands still cannot
// look healthy. on_turn() is one relaxed store. One thread writes.
#pragma once

#include "server/platform/boot_time.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gcoord::server {

// One condition. `detail` is for the operator: why it fails, or what was found.
struct HealthCheck {
  std::string name;  // A word, the same in every release: "majority".
  bool ok = false;
  std::string detail;
  bool required = true;  // False: a warning, requests are served all the same.
};

struct HealthReport {
  bool live = false;
  bool ready = false;
  std::vector<HealthCheck> checks;  // "turns" first; then those of the node in their order.
};

// A loop that has not turned for so long stands still: it looks up once a second, and the longest
// pass that was ever measured, the first election of a million shards, took less than a second.
inline constexpr std::chrono::seconds kTurnLimit{10};

class HealthBoard {
 public:
  // clock_us: microseconds that only grow; called by any thread. The node counts as turning from
  // here on.
  explicit HealthBoard(std::function<std::uint64_t()> clock_us = boot_time_us);

  // The loop turns; now_us is of the same clock.
  void on_turn(std::uint64_t now_us) { turned_us_.store(now_us, std::memory_order_relaxed); }

  // Replaces the checks; before the first time there are none, and the node is not ready.
  void set_checks(std::vector<HealthCheck> checks);

  HealthReport report() const;

 private:
  std::function<std::uint64_t()> clock_us_;
  std::atomic<std::uint64_t> turned_us_;
  mutable std::mutex mutex_;
  std::vector<HealthCheck> checks_;  // Under mutex_.
};

}  // namespace gcoord::server
