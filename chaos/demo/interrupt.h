// Ctrl-C and SIGTERM as something that a waiting program notices, so that it can clean up.
// One per process; waiting is for one thread.
#pragma once

#include <chrono>

namespace gcoord::chaos {

class Interrupt {
 public:
  // From now on the signals do not end the process. A second Ctrl-C does.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool happened() const;

  // Waits until then, or less when a signal comes; whether none came.
  bool wait_until(std::chrono::steady_clock::time_point until) const;
};

}  // namespace gcoord::chaos
