#include "cli/terminal/signal_closes.h"

#include <chrono>
#include <utility>

namespace gcoord::cli {

SignalCloses::SignalCloses(const SignalFd& signals, std::function<void()> close)
    : thread_([this, &signals, close = std::move(close)] { run(signals, close); }) {}

SignalCloses::~SignalCloses() {
  stop_.wake();
  thread_.join();
}

void SignalCloses::run(const SignalFd& signals, const std::function<void()>& close) {
  while (!wait_readable({signals.fd(), stop_.fd()}, std::chrono::hours(1))) {
  }
  if (const int arrived = signals.take(); arrived != 0) {
    signal_.store(arrived);
    close();
  }
}

}  // namespace gcoord::cli
