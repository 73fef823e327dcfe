// Time limits that runs of real processes share, and the clock by which they tell what took long.
//
// A limit is where a run gives up, far beyond what a busy machine needs; what has to be fast is
// judged elsewhere. Pure values; any thread.
#pragma once

#include <chrono>

namespace gcoord::chaos {

struct RunTimes {
  std::chrono::seconds start{60};  // For nodes and client processes to serve.
  std::chrono::seconds stop{15};   // Between SIGTERM and SIGKILL.
  // For every forgotten lock to expire, election and back-off included.
  std::chrono::seconds sweep{20};
  std::chrono::seconds agree{30};  // For all replicas to be equal.
  std::chrono::seconds calm{5};    // Load without faults, at either end of a run.
};

inline constexpr RunTimes kRunTimes;

inline double milliseconds_since(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since)
      .count();
}

}  // namespace gcoord::chaos
