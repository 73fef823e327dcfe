// The end of the time that a whole collection has. Plain value; thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

namespace gcoord::cli {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(std::chrono::milliseconds from_now) : end_(Clock::now() + from_now) {}

  // What is left; zero once it is over.
  std::chrono::milliseconds left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
    return std::max(left, std::chrono::milliseconds{0});
  }

  bool over() const { return left().count() == 0; }

 private:
  Clock::time_point end_;
};

}  // namespace gcoord::cli
