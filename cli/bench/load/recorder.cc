#include "cli/bench/load/recorder.h"

#include "common/assert.h"

#include <algorithm>

namespace gcoord::cli {

namespace {

constexpr std::chrono::milliseconds kSecond{1000};

// Whole seconds, as many as make kIntervalsMax intervals enough.
std::chrono::milliseconds interval_length_of(std::chrono::milliseconds length) {
  const std::int64_t seconds = (length.count() + kSecond.count() - 1) / kSecond.count();
  const std::int64_t each = (seconds + Recorder::kIntervalsMax - 1) / Recorder::kIntervalsMax;
  return kSecond * std::max<std::int64_t>(each, 1);
}

std::string cause_of(const Status& status) {
  return status.detail() != 0 ? "GC" + std::to_string(status.detail())
                              : std::string{status_code_name(status.code())};
}

}  // namespace

Recorder::Recorder(std::chrono::milliseconds length)
    : length_(length), interval_length_(interval_length_of(length)) {
  const std::int64_t each = interval_length_.count();
  const std::int64_t count = std::max<std::int64_t>(1, (length.count() + each - 1) / each);
  intervals_.resize(static_cast<std::size_t>(count));
}

BenchInterval& Recorder::interval_at(std::chrono::nanoseconds at) {
  const std::int64_t index = std::max<std::int64_t>(0, at / interval_length_);
  return intervals_[std::min(static_cast<std::size_t>(index), intervals_.size() - 1)];
}

void Recorder::note_cause(const std::string& cause, std::uint64_t count, const std::string& first) {
  const bool room = causes_.size() < kCausesMax || causes_.contains(cause);
  BenchCause& noted = causes_[room ? cause : "others"];
  noted.count += count;
  if (noted.first.empty()) {
    noted.first = first;
  }
}

void Recorder::record(std::chrono::nanoseconds at,
                      std::chrono::nanoseconds latency,
                      const Status& status) {
  BenchInterval& interval = interval_at(at);
  if (!status.ok()) {
    ++interval.errors;
    ++errors_;
    return note_cause(cause_of(status), 1, status.to_string());
  }
  ++interval.answered;
  interval.latency.record(latency);
  latency_.record(latency);
  ++answered_;
  answered_in_time_ += at <= length_ ? 1 : 0;
}

void Recorder::record_unfinished(std::chrono::nanoseconds latency) {
  ++unfinished_;
  latency_.record(latency);
}

void Recorder::add(const Recorder& other) {
  GCOORD_ASSERT(intervals_.size() == other.intervals_.size());
  for (std::size_t i = 0; i < intervals_.size(); ++i) {
    intervals_[i].answered += other.intervals_[i].answered;
    intervals_[i].errors += other.intervals_[i].errors;
    intervals_[i].latency.add(other.intervals_[i].latency);
  }
  for (const auto& [cause, noted] : other.causes_) {
    note_cause(cause, noted.count, noted.first);
  }
  latency_.add(other.latency_);
  answered_ += other.answered_;
  answered_in_time_ += other.answered_in_time_;
  errors_ += other.errors_;
  unfinished_ += other.unfinished_;
}

}  // namespace gcoord::cli
