#include "server/gpu_policy/judge.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kHourMs = 3'600'000;

// By how much a counter grew since the call before; nothing the first time, and where it fell,
// because the driver was loaded anew.
std::uint64_t growth(std::optional<std::uint64_t>& before, std::optional<std::uint64_t> now) {
  if (!now.has_value()) {
    return 0;
  }
  const std::uint64_t from = std::exchange(before, now).value_or(*now);
  return *now - std::min(*now, from);
}

}  // namespace

void GpuJudge::look_at_xids(const GpuReading& reading, std::vector<Sight>& sights) {
  for (const auto& [number, count] : reading.xids) {
    const std::uint64_t before = std::exchange(xids_[number], count);
    const auto fault = fault_of_xid(number);
    if (count > before && fault.has_value()) {
      sights.push_back({*fault, "Xid " + std::to_string(number)});
    }
  }
}

bool GpuJudge::corrected_too_often(std::uint64_t count, std::uint64_t now_ms) {
  const bool first = !corrected_.has_value() || count < *corrected_;
  // Before the hour ends: what grew since the look before belongs to it.
  const bool often = !first && count - *corrected_ >= kEccCorrectedPerHour;
  if (first || often || now_ms >= corrected_since_ms_ + kHourMs) {
    corrected_ = count;
    corrected_since_ms_ = now_ms;
  }
  return often;
}

std::vector<GpuJudge::Sight> GpuJudge::sights_of(const GpuReading& reading, std::uint64_t now_ms) {
  std::vector<Sight> sights;
  look_at_xids(reading, sights);
  const GpuFacts& facts = reading.facts;
  if (facts.lost) {
    sights.push_back({GpuFault::XidFatal, "NVML says that the GPU is lost"});
  }
  if (const std::uint64_t errors = growth(uncorrected_, facts.ecc_uncorrected); errors != 0) {
    sights.push_back({GpuFault::EccUncorrected,
                      std::to_string(errors) + " errors of memory that were not corrected"});
  }
  if (facts.ecc_corrected.has_value() && corrected_too_often(*facts.ecc_corrected, now_ms)) {
    sights.push_back({GpuFault::EccCorrectedRate,
                      std::to_string(kEccCorrectedPerHour) +
                          " or more errors of memory that were corrected, within an hour"});
  }
  if (const std::uint64_t times = growth(recoveries_, facts.link_recoveries); times != 0) {
    sights.push_back({GpuFault::LinkError, std::to_string(times) + " recoveries of NVLinks"});
  }
  if (const std::uint64_t downs = growth(link_downs_, facts.link_downs); downs != 0) {
    sights.push_back({GpuFault::LinkError, std::to_string(downs) + " NVLinks went down"});
  }
  if ((facts.throttle.value_or(0) & (kThrottleHeat | kThrottleHeatBySoftware)) != 0) {
    sights.push_back({GpuFault::Thermal, "clocks are low because of heat"});
  }
  return sights;
}

std::vector<GpuDecision> GpuJudge::look(const GpuReading* reading, std::uint64_t now_ms) {
  std::vector<GpuDecision> decisions;
  const std::vector<Sight> sights =
      reading == nullptr ? std::vector<Sight>{{GpuFault::Hung, "the driver answers no reading"}}
                         : sights_of(*reading, now_ms);
  for (const Sight& sight : sights) {
    auto& condition = conditions_[static_cast<std::size_t>(sight.fault)];
    const bool begins = !condition.has_value();
    if (begins) {
      condition = GpuCondition{.since_ms = now_ms};
    }
    condition->seen_ms = now_ms;
    ++condition->seen;
    condition->evidence = sight.evidence;
    if (begins) {
      decisions.push_back({sight.fault, policy_.of(sight.fault), true, sight.evidence, 1});
    }
  }
  for (std::size_t k = 0; k < kGpuFaults; ++k) {
    auto& condition = conditions_[k];
    if (condition.has_value() && now_ms >= condition->seen_ms + quiet_ms_) {
      const auto fault = static_cast<GpuFault>(k);
      decisions.push_back({fault, policy_.of(fault), false, condition->evidence, condition->seen});
      condition.reset();
    }
  }
  return decisions;
}

bool GpuJudge::drains() const {
  for (std::size_t k = 0; k < kGpuFaults; ++k) {
    if (conditions_[k].has_value() && policy_.actions[k] == GpuAction::Drain) {
      return true;
    }
  }
  return false;
}

const GpuCondition* GpuJudge::condition(GpuFault fault) const {
  const auto& condition = conditions_[static_cast<std::size_t>(fault)];
  return condition.has_value() ? &*condition : nullptr;
}

bool ContextRestarts::may_restart(std::uint64_t now_ms) {
  std::erase_if(at_ms_, [now_ms](std::uint64_t at) { return now_ms >= at + kWithinMs; });
  if (at_ms_.size() >= kMost) {
    return false;
  }
  at_ms_.push_back(now_ms);
  return true;
}

}  // namespace gcoord::server
