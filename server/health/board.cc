#include "server/health/board.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

HealthCheck turns_check(std::uint64_t age_us) {
  const bool ok = age_us <= std::uint64_t{std::chrono::microseconds(kTurnLimit).count()};
  return {"turns",
          ok,
          ok ? "" : "the loop has not turned for " + std::to_string(age_us / 1000) + " ms"};
}

}  // namespace

HealthBoard::HealthBoard(std::function<std::uint64_t()> clock_us)
    : clock_us_(std::move(clock_us)), turned_us_(clock_us_()) {}

void HealthBoard::set_checks(std::vector<HealthCheck> checks) {
  const std::lock_guard lock(mutex_);
  checks_ = std::move(checks);
}

HealthReport HealthBoard::report() const {
  HealthReport report;
  const std::uint64_t turned_us = turned_us_.load(std::memory_order_relaxed);
  const std::uint64_t now_us = std::max(clock_us_(), turned_us);
  report.checks.push_back(turns_check(now_us - turned_us));
  report.live = report.checks.front().ok;
  const std::lock_guard lock(mutex_);
  report.checks.insert(report.checks.end(), checks_.begin(), checks_.end());
  report.ready =
      !checks_.empty() && std::ranges::all_of(report.checks, [](const HealthCheck& check) {
        return check.ok || !check.required;
      });
  return report;
}

}  // namespace gcoord::server
