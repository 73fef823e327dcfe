#include "chaos/demo/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

namespace gcoord::chaos {

namespace {

// Readable once a signal came: all that a signal's function may touch.
int signalled_fd = -1;

void on_signal(int) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(signalled_fd, &one, sizeof(one));
}

}  // namespace

Interrupt::Interrupt() {
  signalled_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

  struct sigaction action {};

  action.sa_handler = &on_signal;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  ::close(signalled_fd);
  signalled_fd = -1;
}

bool Interrupt::happened() const {
  return !wait_until(std::chrono::steady_clock::now());
}

bool Interrupt::wait_until(std::chrono::steady_clock::time_point until) const {
  pollfd readable{signalled_fd, POLLIN, 0};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const auto bounded = std::clamp<long long>(left.count(), 0, 60'000);
    if (::poll(&readable, 1, static_cast<int>(bounded)) > 0) {
      return false;
    }
    if (bounded == left.count() || left.count() <= 0) {
      return true;
    }
  }
}

}  // namespace gcoord::chaos
