// Random order of faults, derived from a seed alone: the same seed gives the same sequence.
//
// Every class is dealt once before any is dealt again, in an order of its own each time, so that
// a run of any length spreads its strikes evenly. Not thread-safe.
#pragma once

#include "chaos/live/fault.h"

#include <cstdint>
#include <vector>

namespace gcoord::chaos {

class Schedule {
 public:
  // Of the classes that can be injected; at least one.
  Schedule(const std::vector<FaultClass>& classes, std::uint64_t seed);

  // Indices into the classes: one, or two that strike together.
  std::vector<std::size_t> next();

 private:
  void deal();

  const std::vector<FaultClass>& classes_;
  std::uint64_t seed_;
  std::uint64_t round_ = 0;
  std::vector<std::size_t> deck_;
};

}  // namespace gcoord::chaos
