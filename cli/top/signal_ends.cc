#include "cli/top/signal_ends.h"

#include <csignal>
#include <cstdlib>

namespace gcoord::cli::top {

namespace {

// A shell says the same of a process that a signal has ended.
[[noreturn]] void end_process(int signal) {
  act_by_default(signal);
  std::_Exit(128 + signal);  // It is ignored here, as by the first process of a container.
}

}  // namespace

SignalEnds::SignalEnds(const SignalFd& signals, std::chrono::milliseconds patience)
    : thread_([this, &signals, patience] { run(signals, patience); }) {}

SignalEnds::~SignalEnds() {
  finish();
}

int SignalEnds::finish() {
  if (thread_.joinable()) {
    finished_.wake();
    thread_.join();
  }
  return signal_.load();
}

void SignalEnds::run(const SignalFd& signals, std::chrono::milliseconds patience) {
  while (!wait_readable({finished_.fd()}, std::chrono::milliseconds{0})) {
    wait_readable({signals.fd(), finished_.fd()}, std::chrono::hours{1});
    const int arrived = signals.take();
    if (arrived == SIGTSTP) {
      act_by_default(arrived);
    } else if (arrived != 0 && arrived != SIGCONT && arrived != SIGWINCH) {
      signal_.store(arrived);
      if (wait_readable({finished_.fd()}, patience)) {
        return;
      }
      end_process(arrived);
    }
  }
}

}  // namespace gcoord::cli::top
