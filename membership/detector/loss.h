// Estimate of how many probes of a node that lives get no answer. Pure; one thread.
#pragma once

#include <algorithm>
#include <cmath>

namespace gcoord::membership {

class ProbeLoss {
 public:
  // A probe that fails says little where many do; one that never failed may still fail by chance.
  static constexpr double kLeast = 0.05;
  static constexpr double kMost = 0.95;

  void on_probe(bool lost) { rate_ += ((lost ? 1.0 : 0.0) - rate_) / kWeight; }

  double rate() const { return std::clamp(rate_, kLeast, kMost); }

 private:
  static constexpr double kWeight = 16.0;  // Of so many probes each one counts.

  double rate_ = 0.0;
};

// -log10 of the chance that so many probes of a living node all got lost.
inline double decades_of(double loss, unsigned probes) {
  return -std::log10(loss) * probes;
}

}  // namespace gcoord::membership
