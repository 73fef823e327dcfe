#include "server/gpu_guard/guard.h"

#include "protocol/error_codes.h"
#include "server/platform/operator_log.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;

std::string text_of(const GpuDecision& decision, const std::string& gpu) {
  return std::string{gpu_fault_name(decision.fault)} + " of " + gpu + ": " + decision.evidence +
         "; --gpu-policy says " + std::string{gpu_action_name(decision.action)};
}

std::string line_of(ErrorCode code, const std::string& evidence) {
  return "GC" + std::to_string(static_cast<std::uint32_t>(code)) + " " +
         protocol::make_error(code, evidence).message();
}

Json number_json(const std::optional<std::uint64_t>& number) {
  return number.has_value() ? Json(std::to_string(*number)) : Json(nullptr);
}

Json number_json(const std::optional<std::uint32_t>& number) {
  return number.has_value() ? Json(*number) : Json(nullptr);
}

Json reading_json(const GpuReading& reading) {
  const GpuFacts& facts = reading.facts;
  Json xids = Json::array();
  for (const auto& [number, count] : reading.xids) {
    xids.push_back({{"xid", number}, {"count", std::to_string(count)}});
  }
  return {{"uuid", reading.uuid},
          {"busy_percent", number_json(facts.busy_percent)},
          {"memory_used_bytes", number_json(facts.memory_used_bytes)},
          {"memory_bytes", number_json(facts.memory_total_bytes)},
          {"power_mw", number_json(facts.power_mw)},
          {"temperature_c", number_json(facts.temperature_c)},
          {"ecc_corrected", number_json(facts.ecc_corrected)},
          {"ecc_uncorrected", number_json(facts.ecc_uncorrected)},
          {"link_replays", number_json(facts.link_replays)},
          {"link_recoveries", number_json(facts.link_recoveries)},
          {"link_crc_errors", number_json(facts.link_crc_errors)},
          {"link_downs", number_json(facts.link_downs)},
          {"throttle", number_json(facts.throttle)},
          {"processes", number_json(facts.processes)},
          {"xids", xids}};
}

}  // namespace

GpuGuard::Metrics::Metrics(MetricsRegistry& registry)
    : draining(registry.gauge({"gcoord_server_gpu_draining",
                               "Whether the node leads nothing because of its GPU.",
                               "",
                               ""})),
      shared(registry.gauge({"gcoord_server_gpu_shared",
                             "Whether other processes have contexts on the node's GPU without MPS.",
                             "",
                             ""})) {
  for (std::size_t k = 0; k < kGpuActions; ++k) {
    decisions[k] =
        &registry.counter({"gcoord_server_gpu_decisions_total",
                           "Faults of the node's GPU that began, by what --gpu-policy says.",
                           "action",
                           std::string{gpu_action_name(static_cast<GpuAction>(k))}});
  }
}

GpuGuard::GpuGuard(GpuGuardOptions options,
                   std::unique_ptr<GpuSampler> sampler,
                   MetricsRegistry& metrics)
    : options_(std::move(options)),
      sampler_(std::move(sampler)),
      judge_(options_.policy, options_.quiet_ms),
      metrics_(metrics) {}

const GpuReading* GpuGuard::own(const GpuSample& sample) const {
  if (options_.takes_first && !sample.gpus.empty()) {
    return &sample.gpus.front();
  }
  const auto found = std::ranges::find(sample.gpus, options_.uuid, &GpuReading::uuid);
  return found == sample.gpus.end() ? nullptr : &*found;
}

void GpuGuard::look(std::uint64_t now_ms) {
  now_ms_ = now_ms;
  if (sampler_ == nullptr || !end_.ok()) {
    return;
  }
  if (options_.uuid.empty() && !options_.takes_first) {
    return;  // The node works on none, and asks for no readings of others.
  }
  const auto sample = sampler_->sample();
  if (!sample.has_value()) {
    return look_at_silence();  // Nothing was read yet, or there is no NVML.
  }
  age_ms_ = static_cast<std::uint64_t>(sample->age.count()) / 1000;
  const GpuReading* reading = own(*sample);
  const bool stale = sample->gpus.empty() && sample->age > kGpuSampleStale;
  GpuReading gone;
  if (reading == nullptr && !stale && newest_.has_value()) {
    gone = {.uuid = newest_->uuid, .facts = {.lost = true}, .xids = newest_->xids};
    reading = &gone;
  }
  if (reading == nullptr && !stale) {
    hangs_ = false;  // The driver has answered.
    return note_blind("NVML does not show the node's GPU " + options_.uuid);
  }
  if (reading == nullptr && (!looked_ || !is_hung(now_ms))) {
    return;  // Whatever hangs was never seen to be the node's; or this process stood still itself.
  }
  if (reading != nullptr) {
    stale_looks_ = 0;
    blind_.clear();
    hangs_ = false;
  }
  for (const GpuDecision& decision : judge_.look(reading, now_ms)) {
    carry_out(decision);
  }
  if (reading != nullptr) {
    look_at_sharing(*reading);
    newest_ = *reading;
    looked_ = true;
  }
  metrics_.draining.set(drains() ? 1 : 0);
}

// A driver that hangs in its first call is never seen to be the node's, so it is judged as no
// fault: what the policy says of one is for a GPU that was well before.
void GpuGuard::look_at_silence() {
  const GpuSilence silence = sampler_->silence();
  if (!silence.ended.ok()) {
    return note_blind(silence.ended.message());
  }
  if (silence.in_call > kGpuSampleStale) {
    hangs_ = true;
    note_blind("the driver has not answered the first call for " +
               std::to_string(kGpuSampleStale.count()) + " s");
  }
}

void GpuGuard::note_blind(std::string why) {
  if (blind_ != why) {
    log_warning(LogComponent::Gpu, "{}: --gpu-policy has nothing to go by", why);
  }
  blind_ = std::move(why);
}

bool GpuGuard::is_hung(std::uint64_t now_ms) {
  if (stale_looks_++ == 0) {
    stale_since_ms_ = now_ms;
  }
  return stale_looks_ >= kGpuHungLooks && now_ms >= stale_since_ms_ + kGpuHungMs;
}

void GpuGuard::carry_out(const GpuDecision& decision) {
  const std::string gpu = newest_.has_value() ? newest_->uuid : "the node's GPU";
  if (!decision.begins) {
    if (decision.action != GpuAction::Ignore) {
      log_info(LogComponent::Gpu,
               "{} of {} is over, seen {} times; last: {}",
               gpu_fault_name(decision.fault),
               gpu,
               decision.seen,
               decision.evidence);
    }
    return;
  }
  const auto action = static_cast<std::size_t>(decision.action);
  metrics_.decisions[action]->add();
  ++decided_[action];
  const std::string text = text_of(decision, gpu);
  switch (decision.action) {
    case GpuAction::Ignore:
      break;
    case GpuAction::Log:
      log_warning(LogComponent::Gpu, "{}", line_of(ErrorCode::GpuFaultSeen, text));
      break;
    case GpuAction::Drain:
      log_warning(LogComponent::Gpu, "{}", line_of(ErrorCode::GpuDrains, text));
      break;
    case GpuAction::RestartContext:
      log_error(LogComponent::Gpu, "{}", line_of(ErrorCode::GpuContextRestarted, text));
      if (end_.ok()) {
        end_ = protocol::make_error(ErrorCode::GpuContextRestarted, text);
      }
      break;
    case GpuAction::Stop:
      log_error(LogComponent::Gpu, "{}", line_of(ErrorCode::GpuStopped, text));
      end_ = protocol::make_error(ErrorCode::GpuStopped, text);
      break;
  }
}

// Who comes later than this node is told of, and ends nothing here.
void GpuGuard::look_at_sharing(const GpuReading& reading) {
  const bool was_shared = is_shared();
  processes_ = reading.facts.processes.value_or(0);
  metrics_.shared.set(is_shared() ? 1 : 0);
  if (was_shared == is_shared()) {
    return;
  }
  if (!is_shared()) {
    log_info(LogComponent::Gpu, "no other process has a context on {} any more", reading.uuid);
    return;
  }
  const std::string text =
      std::to_string(processes_) + " processes have contexts of their own on " + reading.uuid;
  log_warning(LogComponent::Gpu, "{}", line_of(ErrorCode::GpuShared, text));
  if (!looked_ && !options_.reopened && options_.stripes > kSharedStripesMax && end_.ok()) {
    end_ = protocol::make_error(ErrorCode::GpuShared,
                                text + ", and --turn-stripes " + std::to_string(options_.stripes) +
                                    " is more than " + std::to_string(kSharedStripesMax));
  }
}

std::string GpuGuard::trouble() const {
  std::string text = hangs_ ? blind_ : "";
  for (std::size_t k = 0; k < kGpuFaults; ++k) {
    const auto fault = static_cast<GpuFault>(k);
    const GpuAction action = options_.policy.of(fault);
    if (const GpuCondition* const held = judge_.condition(fault);
        held != nullptr && action != GpuAction::Ignore) {
      text += (text.empty() ? "" : "; ") + std::string{gpu_fault_name(fault)} + " (" +
              std::string{gpu_action_name(action)} + "): " + held->evidence;
    }
  }
  return text;
}

Json GpuGuard::report() const {
  Json conditions = Json::array();
  for (std::size_t k = 0; k < kGpuFaults; ++k) {
    const auto fault = static_cast<GpuFault>(k);
    if (const GpuCondition* const held = judge_.condition(fault)) {
      conditions.push_back({{"fault", gpu_fault_name(fault)},
                            {"action", gpu_action_name(options_.policy.of(fault))},
                            {"since_ms", std::to_string(now_ms_ - held->since_ms)},
                            {"seen", std::to_string(held->seen)},
                            {"evidence", held->evidence}});
    }
  }
  Json decisions = Json::object();
  for (std::size_t k = 0; k < kGpuActions; ++k) {
    decisions[std::string{gpu_action_name(static_cast<GpuAction>(k))}] =
        std::to_string(decided_[k]);
  }
  return {{"policy", gpu_policy_text(options_.policy)},
          {"draining", drains()},
          {"shared", is_shared()},
          {"conditions", conditions},
          {"decisions", decisions},
          {"age_ms", number_json(age_ms_)},
          {"blind", blind_.empty() ? Json(nullptr) : Json(blind_)},
          {"reading", newest_.has_value() ? reading_json(*newest_) : Json(nullptr)}};
}

bool is_context_restart(const Status& ended) {
  return ended.detail() == static_cast<std::uint32_t>(ErrorCode::GpuContextRestarted);
}

bool is_gpu_stop(const Status& ended) {
  return ended.detail() == static_cast<std::uint32_t>(ErrorCode::GpuStopped);
}

}  // namespace gcoord::server
