// Latencies of a run, every one of them kept, so that percentiles are exact.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace gcoord::bench {

class Latencies {
 public:
  // Room for a run's worth, so that recording never waits for memory.
  explicit Latencies(std::size_t expected = 0) { samples_us_.reserve(expected); }

  void add(std::chrono::nanoseconds latency);
  void add_all(const Latencies& other);

  // The smallest latency that at least `share` of all are not above, 0 < share <= 1, in
  // milliseconds; 0 when there are none.
  double at_ms(double share) const;

  std::size_t count() const { return samples_us_.size(); }

 private:
  mutable std::vector<float> samples_us_;  // Ordered by at_ms, when it is asked.
  mutable bool ordered_ = false;
};

}  // namespace gcoord::bench
