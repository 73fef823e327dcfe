#include "cli/terminal/wake_sources.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>

namespace gcoord::cli {

SignalFd::SignalFd(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) {
    sigaddset(&set, signal);
  }
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalFd::~SignalFd() {
  ::close(fd_);
}

int SignalFd::take() const {
  signalfd_siginfo arrived{};
  const bool any = ::read(fd_, &arrived, sizeof(arrived)) == sizeof(arrived);
  return any ? static_cast<int>(arrived.ssi_signo) : 0;
}

// To this thread, so that it goes no further before the signal has acted.
void act_by_default(int signal) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  ::raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Waker::Waker() {
  ok_ = ::pipe2(fds_, O_CLOEXEC | O_NONBLOCK) == 0;
}

Waker::~Waker() {
  if (ok_) {
    ::close(fds_[0]);
    ::close(fds_[1]);
  }
}

void Waker::wake() const {
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = ::write(fds_[1], &byte, 1);
}

void Waker::drain() const {
  char bytes[64];
  while (::read(fds_[0], bytes, sizeof(bytes)) > 0) {
  }
}

bool wait_readable(const std::vector<int>& fds, std::chrono::milliseconds timeout) {
  return wait_ready({.to_read = fds}, timeout);
}

bool wait_ready(const WaitedFor& fds, std::chrono::milliseconds timeout) {
  std::vector<pollfd> polled;
  for (const int fd : fds.to_read) {
    polled.push_back({fd, POLLIN, 0});
  }
  for (const int fd : fds.to_write) {
    polled.push_back({fd, POLLOUT, 0});
  }
  const auto ms = std::clamp<long long>(timeout.count(), 0, 1 << 30);
  return ::poll(polled.data(), polled.size(), static_cast<int>(ms)) > 0;
}

}  // namespace gcoord::cli
