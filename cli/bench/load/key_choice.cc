#include "cli/bench/load/key_choice.h"

#include "common/random.h"

#include <algorithm>
#include <cmath>

namespace gcoord::cli {

namespace {

// Other streams of the same seed are free for other choices.
constexpr std::uint64_t kStream = 0x6b657973;  // "keys"

// 53 bits, so that every value is a double: [0, 1).
double fraction(std::uint64_t word) {
  return static_cast<double>(word >> 11) * 0x1.0p-53;
}

std::vector<double> zipf_shares(std::uint32_t keys) {
  std::vector<double> up_to(keys);
  double sum = 0;
  for (std::uint32_t key = 0; key < keys; ++key) {
    sum += std::pow(key + 1.0, -KeyChoice::kExponent);
    up_to[key] = sum;
  }
  for (double& each : up_to) {
    each /= sum;
  }
  return up_to;
}

}  // namespace

const char* distribution_name(Distribution distribution) {
  return distribution == Distribution::Zipf ? "zipf" : "uniform";
}

KeyChoice::KeyChoice(Distribution distribution, std::uint32_t keys, std::uint64_t seed)
    : keys_(keys), seed_(seed) {
  if (distribution == Distribution::Zipf) {
    up_to_ = zipf_shares(keys);
  }
}

std::uint32_t KeyChoice::key_of(std::uint64_t number) const {
  const std::uint64_t word = random64(seed_, kStream, number);
  if (up_to_.empty()) {
    return random_below(word, keys_);
  }
  const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), fraction(word));
  const auto key = static_cast<std::uint32_t>(found - up_to_.begin());
  return std::min(key, keys_ - 1);  // The last share may be rounded to below 1.
}

double KeyChoice::share_of(std::uint32_t key) const {
  if (up_to_.empty()) {
    return 1.0 / keys_;
  }
  return key == 0 ? up_to_[0] : up_to_[key] - up_to_[key - 1];
}

}  // namespace gcoord::cli
