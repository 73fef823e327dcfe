#include "membership/detector/evidence.h"

#include <algorithm>
#include <utility>

namespace gcoord::membership {

namespace {

// So many different nodes that were refused are enough, and no more are kept.
constexpr std::size_t kRefusersWanted = 2;
// Refusals that one node alone saw, where no other can be asked: more than one, so that a process
// between two starts is not caught.
constexpr unsigned kOwnRefusalsWanted = 3;
// A refusal that nothing confirmed is forgotten.
constexpr std::uint64_t kRefusalMs = 2000;

FailureDetectorOptions arrival_options(const EvidenceOptions& options) {
  return {.interval_ticks = options.heartbeat_ms,
          .deviation_ticks_min = options.heartbeat_ms / 2.0,
          .lapse_ticks = options.silence_ms_min};
}

}  // namespace

Evidence::Evidence(WatchedNode node, const EvidenceOptions& options, std::uint64_t now_ms)
    : node_(std::move(node)),
      options_(options),
      arrivals_(arrival_options(options)),
      counted_from_ms_(now_ms),
      since_ms_(now_ms) {
  arrivals_.on_heartbeat(Tick{now_ms});
}

bool Evidence::admit(Incarnation incarnation, std::uint64_t now_ms) {
  if (incarnation == incarnation_) {
    return true;
  }
  if (confirmed_ || incarnation < incarnation_) {
    return false;
  }
  begin_life(incarnation, now_ms);
  return true;
}

bool Evidence::confirm(Incarnation incarnation, std::uint64_t now_ms) {
  if (confirmed_ && incarnation < incarnation_) {
    return false;
  }
  confirmed_ = true;
  if (incarnation != incarnation_) {
    begin_life(incarnation, now_ms);
  }
  return true;
}

void Evidence::begin_life(Incarnation incarnation, std::uint64_t now_ms) {
  incarnation_ = incarnation;
  arrivals_.forget();
  arrivals_.on_heartbeat(Tick{now_ms});
  counted_from_ms_ = now_ms;
  speaks_ = false;
  device_ = DeviceHealth::None;
}

void Evidence::set_device(DeviceHealth device) {
  device_ = device;
  doubted_ = doubted_ || device == DeviceHealth::Stopped;
}

void Evidence::heard_directly(std::uint64_t now_ms) {
  arrivals_.on_heartbeat(Tick{now_ms});
  direct_ms_ = now_ms;
  doubted_ = false;
  clear();
}

void Evidence::heard_indirectly(std::uint64_t now_ms) {
  indirect_ms_ = now_ms;
  clear();
}

void Evidence::clear() {
  decades_ = 0.0;
  refusers_.clear();
  own_refusals_ = 0;
}

void Evidence::refused(NodeId by, std::uint64_t now_ms) {
  // Who never answered a datagram may have no socket for them at all.
  if (!speaks_) {
    return;
  }
  if (now_ms - newest_refusal_ms_ > kRefusalMs) {
    refusers_.clear();
    own_refusals_ = 0;
  }
  newest_refusal_ms_ = now_ms;
  doubt();
  ++own_refusals_;
  if (refusers_.size() < kRefusersWanted && std::ranges::find(refusers_, by) == refusers_.end()) {
    refusers_.push_back(by);
  }
}

void Evidence::round_failed(const RoundEnd& end) {
  // Without a word from a relay it may be the own link that failed.
  if (end.denials > 0 || !end.relayed) {
    decades_ += decades_of(end.loss, 1 + end.denials);
  }
}

void Evidence::forgive(std::uint64_t now_ms) {
  counted_from_ms_ = now_ms;
  arrivals_.on_heartbeat(Tick{now_ms});
  doubted_ = doubted_ && verdict_ == Verdict::Suspect;
  clear();
}

std::uint64_t Evidence::silent_for_ms(std::uint64_t now_ms) const {
  return now_ms - std::min(now_ms, std::max({counted_from_ms_, direct_ms_, indirect_ms_}));
}

bool Evidence::is_late(std::uint64_t now_ms) const {
  return phi(now_ms) >= options_.suspicion / 2;
}

bool Evidence::refused_enough(const Surroundings& around) const {
  return refusers_.size() >= kRefusersWanted ||
         (!around.relays && own_refusals_ >= kOwnRefusalsWanted);
}

bool Evidence::silent_enough(std::uint64_t now_ms, const Surroundings& around) const {
  const bool probed = around.datagrams ? decades_ >= options_.suspicion : around.hears_majority;
  return probed && phi(now_ms) >= options_.suspicion && silent_for_ms(now_ms) >= around.silence_ms;
}

Verdict Evidence::judged(std::uint64_t now_ms, const Surroundings& around) const {
  if (!doubted_) {
    return Verdict::Alive;
  }
  if (refused_enough(around) || silent_enough(now_ms, around)) {
    return Verdict::Suspect;
  }
  // It stays suspect until something is heard of it.
  const bool heard = std::max(direct_ms_, indirect_ms_) > since_ms_;
  return verdict_ == Verdict::Suspect && !heard ? Verdict::Suspect : Verdict::Doubted;
}

Cause Evidence::reason(std::uint64_t now_ms, Verdict verdict, const Surroundings& around) const {
  if (verdict == Verdict::Alive) {
    return Cause::None;
  }
  if (device_ == DeviceHealth::Stopped) {
    return Cause::Device;
  }
  if (refused_enough(around) || (verdict == Verdict::Doubted && !refusers_.empty())) {
    return Cause::Refused;
  }
  if (indirect_ms_ > direct_ms_ && now_ms - indirect_ms_ < around.silence_ms) {
    return Cause::Link;
  }
  const bool stays = verdict == verdict_ && cause_ == Cause::Refused;
  return stays ? Cause::Refused : Cause::Silent;
}

bool Evidence::judge(std::uint64_t now_ms, const Surroundings& around) {
  if (is_late(now_ms)) {
    doubt();
  }
  const Verdict verdict = judged(now_ms, around);
  const Cause cause = reason(now_ms, verdict, around);
  const bool changed = verdict != verdict_ || cause != cause_;
  since_ms_ = verdict == verdict_ ? since_ms_ : now_ms;
  verdict_ = verdict;
  cause_ = cause;
  return changed;
}

}  // namespace gcoord::membership
