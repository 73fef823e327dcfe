#include "ledger/heads/round_times.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::server {
namespace {

constexpr std::array<const char*, kRoundPhases> kTexts{
    "wait", "collect", "agree", "order", "sign", "publish"};

std::size_t place(RoundPhase phase) {
  return static_cast<std::size_t>(phase);
}

}  // namespace

const char* text(RoundPhase phase) {
  return kTexts[place(phase)];
}

RoundTimes::RoundTimes(MetricsRegistry& metrics)
    : total_(metrics.histogram(
          {"gcoord_server_publication_duration_seconds",
           "From the first entry of a publisher's round to a majority's signatures",
           "",
           ""})) {
  for (const char* phase : kTexts) {
    phases_.push_back(&metrics.histogram({"gcoord_server_publication_phase_seconds",
                                          "Time of a publisher's rounds by phase",
                                          "phase",
                                          phase}));
  }
}

void RoundTimes::begin(const Round& round, std::uint64_t now_ms) {
  GCOORD_ASSERT(round.news_ms <= round.begin_ms && round.begin_ms <= now_ms);
  GCOORD_ASSERT(rounds_.empty() || rounds_.back().round.size < round.size);
  UnderWay under_way{.round = round};
  under_way.end_ms[place(RoundPhase::Wait)] = round.begin_ms;
  under_way.end_ms[place(RoundPhase::Collect)] = now_ms;
  rounds_.push_back(under_way);
}

std::optional<std::uint64_t> RoundTimes::give_up(std::uint64_t size) {
  if (rounds_.empty() || rounds_.back().round.size != size) {
    return std::nullopt;
  }
  const std::uint64_t news_ms = rounds_.back().round.news_ms;
  rounds_.pop_back();
  return news_ms;
}

void RoundTimes::agreed(std::uint64_t now_ms) {
  if (!rounds_.empty()) {
    end(RoundPhase::Agree, rounds_.back().round.size, now_ms);
  }
}

void RoundTimes::ordered(std::uint64_t size, std::uint64_t now_ms) {
  end(RoundPhase::Order, size, now_ms);
}

void RoundTimes::signed_here(std::uint64_t size, std::uint64_t now_ms) {
  end(RoundPhase::Sign, size, now_ms);
}

void RoundTimes::published(std::uint64_t size, std::uint64_t now_ms) {
  end(RoundPhase::Publish, size, now_ms);
  const auto rest = std::ranges::find_if(
      rounds_, [size](const UnderWay& each) { return each.round.size > size; });
  std::for_each(rounds_.begin(), rest, [this](const UnderWay& each) { count(each); });
  rounds_.erase(rounds_.begin(), rest);
}

// What ended later implies what has to come before it: others may have ordered, or signed, first.
void RoundTimes::end(RoundPhase phase, std::uint64_t size, std::uint64_t now_ms) {
  for (UnderWay& each : rounds_) {
    for (std::size_t k = 0; each.round.size <= size && k <= place(phase); ++k) {
      each.end_ms[k] = each.end_ms[k] == 0 ? now_ms : each.end_ms[k];
    }
  }
}

void RoundTimes::count(const UnderWay& round) {
  RoundDuration duration{.heads = round.round.heads};
  std::uint64_t from_ms = round.round.news_ms;
  for (std::size_t k = 0; k < kRoundPhases; ++k) {
    GCOORD_ASSERT(round.end_ms[k] >= from_ms);
    duration.phase_ms[k] = round.end_ms[k] - from_ms;
    duration.total_ms += duration.phase_ms[k];
    phases_[k]->observe_us(duration.phase_ms[k] * 1000);
    from_ms = round.end_ms[k];
  }
  total_.observe_us(duration.total_ms * 1000);
  if (duration.total_ms >= slowest_.total_ms) {
    slowest_ = duration;
  }
}

}  // namespace gcoord::server
