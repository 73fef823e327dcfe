// A Unix socket that carries one message with one file descriptor each way, with time limits.
//
// Device memory leaves a process as a descriptor, and a descriptor travels only here (SCM_RIGHTS).
// The other end is another process and may be anything: a message has the expected length or is an
// error, surplus descriptors are closed, every wait has a deadline, and another user's process is
// refused at either end (SO_PEERCRED). Nothing else passes through: data never does. Host only,
// blocking, one thread.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace gcoord::netcore {

// Owns a descriptor.
class OwnedFd {
 public:
  OwnedFd() = default;

  explicit OwnedFd(int fd) : fd_(fd) {}

  ~OwnedFd();

  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int get() const { return fd_; }

  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Listens at a path, which must not exist; mode 0600. The caller removes it.
Result<OwnedFd> listen_at(const std::string& path);

// The next caller, if it is of this user; DeadlineExceeded after `timeout_ms`.
Result<OwnedFd> accept_at(const OwnedFd& listener, int timeout_ms);

// Calls until somebody listens, or the deadline. PermissionDenied: whoever does is of another user.
Result<OwnedFd> call_at(const std::string& path, int timeout_ms);

// Sends all of `message` with `fd`. The descriptor stays the caller's.
Status send_with_fd(const OwnedFd& socket, std::span<const std::byte> message, int fd);

// Receives exactly message.size() bytes and one descriptor. Unavailable when the other end is gone,
// DataLoss when what came is not that.
Result<OwnedFd> receive_with_fd(const OwnedFd& socket,
                                std::span<std::byte> message,
                                int timeout_ms);

}  // namespace gcoord::netcore
