#include "common/host/event_level.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace gcoord {

int EventLevel::get(bool ready) {
  if (fd_ < 0) {
    fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd_ < 0) {
      return -errno;
    }
    set(ready);
  }
  return fd_;
}

// Neither call can block, nor fail in a way that matters: a counter that is full is readable, and
// one that is empty is not.
void EventLevel::set(bool ready) {
  if (fd_ < 0 || (!ready && !readable_)) {
    return;
  }
  std::uint64_t count = 1;
  [[maybe_unused]] const ssize_t bytes =
      ready ? ::write(fd_, &count, sizeof count) : ::read(fd_, &count, sizeof count);
  readable_ = ready;
}

void EventLevel::close() {
  if (const int fd = std::exchange(fd_, -1); fd >= 0) {
    ::close(fd);
  }
}

}  // namespace gcoord
