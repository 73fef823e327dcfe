#include "bench/report/latencies.h"

#include <algorithm>
#include <cmath>

namespace gcoord::bench {

void Latencies::add(std::chrono::nanoseconds latency) {
  samples_us_.push_back(static_cast<float>(latency.count()) / 1000.0f);
  ordered_ = false;
}

void Latencies::add_all(const Latencies& other) {
  samples_us_.insert(samples_us_.end(), other.samples_us_.begin(), other.samples_us_.end());
  ordered_ = false;
}

double Latencies::at_ms(double share) const {
  if (samples_us_.empty()) {
    return 0;
  }
  if (!ordered_) {
    std::sort(samples_us_.begin(), samples_us_.end());
    ordered_ = true;
  }
  const double rank = std::ceil(share * static_cast<double>(samples_us_.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return static_cast<double>(samples_us_[std::min(index, samples_us_.size() - 1)]) / 1000.0;
}

}  // namespace gcoord::bench
