// The oracle for small histories: tries every order, with nothing clever in it.
//
// Each operation gets the earliest point in time that its call and its predecessors allow; a hold
// may lapse between any two, at the moment that the model names or later.
#pragma once

#include "chaos/check/linear_calls.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gcoord::chaos {

template <typename Model>
class BruteForce {
 public:
  using Call = TimedCall<typename Model::Action>;

  explicit BruteForce(const std::vector<Call>& calls)
      : calls_(calls), placed_(calls.size(), false) {}

  bool legal() { return try_all(typename Model::State{}, 0); }

 private:
  bool complete() const {
    for (std::size_t index = 0; index < calls_.size(); ++index) {
      if (!placed_[index] && calls_[index].return_ns != kOpenReturn) {
        return false;
      }
    }
    return true;
  }

  bool try_all(const typename Model::State& state, std::uint64_t now_ns) {
    return complete() || try_calls(state, now_ns) || try_lapse(state, now_ns);
  }

  bool try_calls(const typename Model::State& state, std::uint64_t now_ns) {
    for (std::size_t index = 0; index < calls_.size(); ++index) {
      const Call& call = calls_[index];
      const std::uint64_t point_ns = std::max(now_ns, call.call_ns);
      auto after = state;
      if (placed_[index] || point_ns > call.return_ns || !Model::apply(after, call.action)) {
        continue;
      }
      placed_[index] = true;
      const bool found = try_all(after, point_ns);
      placed_[index] = false;
      if (found) {
        return true;
      }
    }
    return false;
  }

  bool try_lapse(const typename Model::State& state, std::uint64_t now_ns) {
    if constexpr (requires(typename Model::State & s) { Model::lapse(s); }) {
      if (Model::lapse_ns(state) != ~std::uint64_t{0}) {
        auto after = state;
        Model::lapse(after);
        return try_calls(after, std::max(now_ns, Model::lapse_ns(state)));
      }
    }
    return false;
  }

  const std::vector<Call>& calls_;
  std::vector<bool> placed_;
};

}  // namespace gcoord::chaos
