// Distribution of operations over names: uniform, or by Zipf's law.
//
// The choice is a pure function of the operation's number, so two systems that are compared get the
// same names in the same order. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace gcoord::cli {

enum class Distribution : std::uint8_t { Uniform, Zipf };

// "uniform" or "zipf".
const char* distribution_name(Distribution distribution);

class KeyChoice {
 public:
  // The exponent of YCSB's default load: with 1,000 names the first takes 13 % of the operations.
  static constexpr double kExponent = 0.99;

  // `keys` from 1 on; of Zipf's law 8 bytes each.
  KeyChoice(Distribution distribution, std::uint32_t keys, std::uint64_t seed = 1);

  // Below `keys`; 0 is the most frequent one of Zipf's law.
  std::uint32_t key_of(std::uint64_t number) const;

  // The share of all operations that are about this key.
  double share_of(std::uint32_t key) const;

 private:
  std::uint32_t keys_;
  std::uint64_t seed_;
  std::vector<double> up_to_;  // Shares of the keys up to this one; empty: uniform.
};

}  // namespace gcoord::cli
