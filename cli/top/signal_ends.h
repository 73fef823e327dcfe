// Lets signals end the process while its main thread blocks in what no signal interrupts: a client
// that connects or ends, or a pipe that nobody reads from.
//
// A thread of its own reads the signals as long as the object lives; nobody else may read them
// meanwhile. SIGTSTP stops the process, SIGCONT and SIGWINCH do nothing. One thread makes and ends
// it.
#pragma once

#include "cli/terminal/wake_sources.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace gcoord::cli::top {

class SignalEnds {
 public:
  // A signal that comes, or has come already, ends the process as it does by default, when this
  // object still lives `patience` later.
  SignalEnds(const SignalFd& signals, std::chrono::milliseconds patience);
  ~SignalEnds();
  SignalEnds(const SignalEnds&) = delete;
  SignalEnds& operator=(const SignalEnds&) = delete;

  // Ends no process any more. The signal that came and was too late for that, or 0.
  int finish();

 private:
  void run(const SignalFd& signals, std::chrono::milliseconds patience);

  Waker finished_;
  std::atomic<int> signal_{0};
  std::thread thread_;
};

}  // namespace gcoord::cli::top
