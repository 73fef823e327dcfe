#include "cli/bench/load/histogram.h"

#include "common/assert.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gcoord::cli {

namespace {

// A little above an hour.
constexpr std::uint64_t kMax = (std::uint64_t{1} << 42) - 1;

}  // namespace

Histogram::Histogram(std::uint32_t bits) : bits_(bits) {
  GCOORD_ASSERT(bits >= 1);
  GCOORD_ASSERT(bits <= 20);
}

// Values below 2^bits have a counter each; of every further power of two there are 2^(bits - 1).
std::size_t Histogram::index_of(std::uint64_t value) const {
  if (value < (std::uint64_t{1} << bits_)) {
    return static_cast<std::size_t>(value);
  }
  const auto shift = static_cast<std::uint32_t>(std::bit_width(value)) - bits_;
  return static_cast<std::size_t>((std::uint64_t{shift} << (bits_ - 1)) + (value >> shift));
}

std::uint64_t Histogram::least_of(std::size_t index) const {
  const std::size_t half = std::size_t{1} << (bits_ - 1);
  if (index < 2 * half) {
    return index;
  }
  const std::size_t shift = index / half - 1;
  return std::uint64_t{index - shift * half} << shift;
}

void Histogram::record(std::chrono::nanoseconds value) {
  const auto time =
      std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(value.count(), 0)), kMax);
  const std::size_t index = index_of(time);
  if (index >= counts_.size()) {
    counts_.resize(index + 1);
  }
  ++counts_[index];
  const auto exact = static_cast<std::int64_t>(time);
  min_ = count_ == 0 ? exact : std::min(min_, exact);
  max_ = std::max(max_, exact);
  ++count_;
  sum_ += static_cast<double>(time);
  sum_of_squares_ += static_cast<double>(time) * static_cast<double>(time);
}

void Histogram::add(const Histogram& other) {
  GCOORD_ASSERT(bits_ == other.bits_);
  if (other.count_ == 0) {
    return;
  }
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  sum_of_squares_ += other.sum_of_squares_;
}

std::chrono::nanoseconds Histogram::at_percent(double percent) const {
  const double wanted = std::ceil(percent / 100.0 * static_cast<double>(count_));
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::max(wanted, 0.0)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) {
      const auto end = static_cast<std::int64_t>(most_of(i));
      return std::chrono::nanoseconds{std::min(end, max_)};
    }
  }
  return max();
}

std::chrono::nanoseconds Histogram::min() const {
  return std::chrono::nanoseconds{min_};
}

double Histogram::mean_ns() const {
  return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

double Histogram::deviation_ns() const {
  if (count_ == 0) {
    return 0;
  }
  const double mean = mean_ns();
  return std::sqrt(std::max(0.0, sum_of_squares_ / static_cast<double>(count_) - mean * mean));
}

std::vector<Histogram::Step> Histogram::steps() const {
  std::vector<Step> found;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) {
      found.push_back({std::chrono::nanoseconds{static_cast<std::int64_t>(least_of(i))},
                       std::chrono::nanoseconds{static_cast<std::int64_t>(most_of(i))},
                       counts_[i]});
    }
  }
  return found;
}

}  // namespace gcoord::cli
