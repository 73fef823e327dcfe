// Record of the operations of a run: latencies, failures by cause, and both by interval.
// Not thread-safe.
#pragma once

#include "cli/bench/load/histogram.h"
#include "common/status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gcoord::cli {

// What ended within one interval of the run.
struct BenchInterval {
  std::uint64_t answered = 0;
  std::uint64_t errors = 0;
  Histogram latency{Histogram::kCoarseBits};
};

// Failures of one cause, "GC5001".
struct BenchCause {
  std::uint64_t count = 0;
  std::string first;  // The message of one of them.
};

class Recorder {
 public:
  // Causes beyond so many are counted together, so that no text of others fills the memory.
  static constexpr std::size_t kCausesMax = 20;

  // An interval is a second, or longer where there would be more than this many of them.
  static constexpr std::int64_t kIntervalsMax = 600;

  explicit Recorder(std::chrono::milliseconds length);

  // An operation ended `at` after the start; it was due `latency` before.
  void record(std::chrono::nanoseconds at, std::chrono::nanoseconds latency, const Status& status);

  // It had not ended `latency` after it was due, when the run was over: the histogram has this
  // lower bound, so that it does not flatter.
  void record_unfinished(std::chrono::nanoseconds latency);

  // Of the same length.
  void add(const Recorder& other);

  const Histogram& latency() const { return latency_; }

  std::uint64_t answered() const { return answered_; }

  // Of these, before the length of the run was over.
  std::uint64_t answered_in_time() const { return answered_in_time_; }

  std::uint64_t errors() const { return errors_; }

  std::uint64_t unfinished() const { return unfinished_; }

  const std::map<std::string, BenchCause>& causes() const { return causes_; }

  std::chrono::milliseconds interval_length() const { return interval_length_; }

  // From the start on; what ends after the length of the run is in the last one.
  const std::vector<BenchInterval>& intervals() const { return intervals_; }

 private:
  BenchInterval& interval_at(std::chrono::nanoseconds at);
  void note_cause(const std::string& cause, std::uint64_t count, const std::string& first);

  std::chrono::milliseconds length_;
  std::chrono::milliseconds interval_length_;
  std::vector<BenchInterval> intervals_;
  Histogram latency_;  // Of answers and of what is unfinished.
  std::map<std::string, BenchCause> causes_;
  std::uint64_t answered_ = 0;
  std::uint64_t answered_in_time_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t unfinished_ = 0;
};

}  // namespace gcoord::cli
