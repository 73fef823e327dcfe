// A series of the last 60 samples of one number, some of which may be unknown. Pure; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace gcoord::cli::top {

// Two minutes at the default interval.
inline constexpr std::size_t kHistorySamples = 60;

// Kept in a ring; the oldest sample goes when a new one has no room.
class History {
 public:
  void add(std::optional<double> sample) {
    samples_[count_ % kHistorySamples] = sample;
    ++count_;
  }

  std::size_t size() const { return std::min(count_, kHistorySamples); }

  // 0 is the oldest; below size().
  std::optional<double> at(std::size_t index) const {
    return samples_[(count_ - size() + index) % kHistorySamples];
  }

  // How many samples came before at(0).
  std::size_t forgotten() const { return count_ - size(); }

  // Unknown before the first sample too.
  std::optional<double> latest() const { return count_ == 0 ? std::nullopt : at(size() - 1); }

  // Over the known samples; nothing when there is none.
  std::optional<double> min() const {
    return best([](double a, double b) { return a < b; });
  }

  std::optional<double> max() const {
    return best([](double a, double b) { return a > b; });
  }

 private:
  template <typename Before>
  std::optional<double> best(Before before) const {
    std::optional<double> found;
    for (std::size_t index = 0; index < size(); ++index) {
      const std::optional<double> sample = at(index);
      if (sample.has_value() && (!found.has_value() || before(*sample, *found))) {
        found = sample;
      }
    }
    return found;
  }

  std::array<std::optional<double>, kHistorySamples> samples_{};
  std::size_t count_ = 0;
};

}  // namespace gcoord::cli::top
