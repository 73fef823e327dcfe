// Lets a signal end what blocks: a thread waits for it and calls a function once.
//
// The SignalFd is made before any thread starts, this after what it closes, so that it ends first.
// The destructor ends the thread, called or not. One thread makes and ends it.
#pragma once

#include "cli/terminal/wake_sources.h"

#include <atomic>
#include <functional>
#include <thread>

namespace gcoord::cli {

class SignalCloses {
 public:
  // `close` is called on a thread of its own when a signal comes, or has come already.
  SignalCloses(const SignalFd& signals, std::function<void()> close);
  ~SignalCloses();
  SignalCloses(const SignalCloses&) = delete;
  SignalCloses& operator=(const SignalCloses&) = delete;

  // The signal that came, or 0.
  int signal() const { return signal_.load(); }

 private:
  void run(const SignalFd& signals, const std::function<void()>& close);

  Waker stop_;
  std::atomic<int> signal_{0};
  std::thread thread_;
};

}  // namespace gcoord::cli
