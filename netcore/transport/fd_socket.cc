#include "netcore/transport/fd_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

namespace gcoord::netcore {
namespace {

constexpr std::size_t kFdsMax = 8;  // What is received at once at most; all but one are refused.

Status failure(const std::string& what) {
  const int code = errno;
  return {StatusCode::Unavailable, what + ": " + std::generic_category().message(code)};
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Status{StatusCode::InvalidArgument,
                  "a socket's path has 1 to 107 characters: '" + path + "'"};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

// Whether the other end of a connected socket is a process of this user.
bool is_own_user(const OwnedFd& socket) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == geteuid();
}

// True once the descriptor is ready, false at the deadline.
bool wait_for(int fd, short events, int timeout_ms) {
  pollfd waited{fd, events, 0};
  return poll(&waited, 1, timeout_ms) > 0;
}

// Takes the descriptors out of a received message: the first is kept, the others are closed.
OwnedFd take_fd(msghdr& header) {
  OwnedFd first;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr;
       control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(fd));
      OwnedFd owned{fd};
      if (!first.valid()) {
        first = std::move(owned);
      }
    }
  }
  return first;
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Result<OwnedFd> listen_at(const std::string& path) {
  GCOORD_TRY(const sockaddr_un address, address_of(path));
  OwnedFd listener{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  if (!listener.valid()) {
    return failure("socket");
  }
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  if (bind(listener.get(), any, sizeof(address)) != 0 || chmod(path.c_str(), 0600) != 0 ||
      listen(listener.get(), 16) != 0) {
    return failure("cannot listen at " + path);
  }
  return listener;
}

Result<OwnedFd> accept_at(const OwnedFd& listener, int timeout_ms) {
  if (!wait_for(listener.get(), POLLIN, timeout_ms)) {
    return Status{StatusCode::DeadlineExceeded, "no process connected in time"};
  }
  OwnedFd caller{accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  if (!caller.valid()) {
    return failure("accept");
  }
  if (!is_own_user(caller)) {
    return Status{StatusCode::PermissionDenied, "the calling process runs as another user"};
  }
  return caller;
}

Result<OwnedFd> call_at(const std::string& path, int timeout_ms) {
  GCOORD_TRY(const sockaddr_un address, address_of(path));
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  constexpr int kRetryMs = 5;
  for (int waited_ms = 0;; waited_ms += kRetryMs) {
    OwnedFd caller{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    if (!caller.valid()) {
      return failure("socket");
    }
    if (connect(caller.get(), any, sizeof(address)) == 0) {
      return is_own_user(caller) ? Result<OwnedFd>{std::move(caller)}
                                 : Status{StatusCode::PermissionDenied,
                                          "the listening process runs as another user"};
    }
    const bool not_yet = errno == ENOENT || errno == ECONNREFUSED;
    if (!not_yet || waited_ms >= timeout_ms) {
      return failure("no process listens at " + path);
    }
    poll(nullptr, 0, kRetryMs);
  }
}

Status send_with_fd(const OwnedFd& socket, std::span<const std::byte> message, int fd) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  const ssize_t sent = sendmsg(socket.get(), &header, MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(message.size())) {
    return failure("cannot send the greeting");
  }
  return {};
}

Result<OwnedFd> receive_with_fd(const OwnedFd& socket,
                                std::span<std::byte> message,
                                int timeout_ms) {
  if (!wait_for(socket.get(), POLLIN, timeout_ms)) {
    return Status{StatusCode::DeadlineExceeded, "no greeting in time"};
  }
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFdsMax * sizeof(int))> control{};
  iovec part{message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t received = recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
  if (received <= 0) {
    return Status{StatusCode::Unavailable, "the other side closed the connection"};
  }
  OwnedFd fd = take_fd(header);
  const bool whole =
      static_cast<std::size_t>(received) == message.size() && (header.msg_flags & MSG_TRUNC) == 0;
  if (!whole || !fd.valid()) {
    return Status{StatusCode::DataLoss, "the message is not a greeting with a descriptor"};
  }
  return fd;
}

}  // namespace gcoord::netcore
