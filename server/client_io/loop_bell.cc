#include "server/client_io/loop_bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace gcoord::server {

LoopBell::LoopBell() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) {
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }
}

LoopBell::~LoopBell() {
  ::close(fd_);
}

void LoopBell::ring() {
  // seq_cst: this store and the load after it, against those of arm().
  if (!rung_.exchange(true, std::memory_order_seq_cst) &&
      sleeps_.exchange(false, std::memory_order_seq_cst)) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
    wakes_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool LoopBell::arm() {
  sleeps_.store(true, std::memory_order_seq_cst);
  if (rung_.load(std::memory_order_seq_cst)) {
    sleeps_.store(false, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void LoopBell::silence() {
  sleeps_.store(false, std::memory_order_relaxed);
  // Acquires what was queued before the last ring; who rings after this rings anew.
  rung_.exchange(false, std::memory_order_seq_cst);
}

void LoopBell::answer() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read = ::read(fd_, &count, sizeof count);
}

}  // namespace gcoord::server
