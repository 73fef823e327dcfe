// A histogram of times in the layout of HdrHistogram: counters of equal width within each power of
// two, so that every value is known to one part in 2^bits, from a nanosecond to an hour.
//
// Debian 12 has no libhdrhistogram for C, so the layout stands here; histogram_text.h writes the
// library's own text format. Counts are exact, and so are the smallest and the largest value, the
// mean and the deviation. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::cli {

class Histogram {
 public:
  // 11 bits are HdrHistogram's three significant digits, in 270 kB when the largest time is in it.
  static constexpr std::uint32_t kFineBits = 11;
  // One part in 64, in 10 kB, for what is kept of each second.
  static constexpr std::uint32_t kCoarseBits = 7;

  explicit Histogram(std::uint32_t bits = kFineBits);

  // Below 0 counts as 0, above kMax as kMax.
  void record(std::chrono::nanoseconds value);

  // Of the same bits.
  void add(const Histogram& other);

  std::uint64_t count() const { return count_; }

  // The smallest time that at least `percent` of all are not above, 0 to 100, rounded up to the end
  // of its counter but never above max(); 0 when there are none.
  std::chrono::nanoseconds at_percent(double percent) const;

  // All of these are 0 when there are none.
  std::chrono::nanoseconds min() const;

  std::chrono::nanoseconds max() const { return std::chrono::nanoseconds{max_}; }

  double mean_ns() const;
  double deviation_ns() const;

  // One counter that is not 0: the times in it are `least` to `most`.
  struct Step {
    std::chrono::nanoseconds least;
    std::chrono::nanoseconds most;
    std::uint64_t count = 0;
  };

  // By rising time.
  std::vector<Step> steps() const;

 private:
  std::size_t index_of(std::uint64_t value) const;
  std::uint64_t least_of(std::size_t index) const;

  std::uint64_t most_of(std::size_t index) const { return least_of(index + 1) - 1; }

  std::uint32_t bits_;
  std::vector<std::uint64_t> counts_;  // As long as its largest value needs.
  std::uint64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace gcoord::cli
