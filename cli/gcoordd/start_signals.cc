#include "cli/gcoordd/start_signals.h"

#include "common/assert.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <utility>

namespace gcoord {

namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) {
    ::sigaddset(&set, signal);
  }
  return set;
}

}  // namespace

StartSignals::StartSignals(std::function<void()> before_end) : before_end_(std::move(before_end)) {
  const sigset_t blocked = set_of({SIGTERM, SIGINT, SIGHUP});
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
  GCOORD_ASSERT(stop_fd_ >= 0);
  thread_ = std::thread([this] { watch(); });
}

StartSignals::~StartSignals() {
  stop();
  ::close(stop_fd_);
}

void StartSignals::hand_over() {
  stop();
  const sigset_t blocked = set_of({SIGTERM, SIGINT, SIGHUP});
  ::pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
}

void StartSignals::stop() {
  if (thread_.joinable()) {
    ::eventfd_write(stop_fd_, 1);
    thread_.join();
  }
}

void StartSignals::watch() {
  const sigset_t ending = set_of({SIGTERM, SIGINT});
  const int signal_fd = ::signalfd(-1, &ending, SFD_CLOEXEC);
  GCOORD_ASSERT(signal_fd >= 0);
  std::array<pollfd, 2> awaited{{{signal_fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
  while (::poll(awaited.data(), awaited.size(), -1) < 0) {
  }
  // A signal that comes together with the end of the start is left to the node.
  if (awaited[1].revents == 0) {
    signalfd_siginfo signal{};
    const bool read = ::read(signal_fd, &signal, sizeof signal) == sizeof signal;
    const bool interrupt = read && signal.ssi_signo == SIGINT;
    before_end_();
    std::cerr << "gcoordd: stopped by " << (interrupt ? "SIGINT" : "SIGTERM")
              << " while it started\n";
    std::_Exit(0);
  }
  ::close(signal_fd);
}

}  // namespace gcoord
