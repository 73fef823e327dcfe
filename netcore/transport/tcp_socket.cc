#include "netcore/transport/tcp_socket.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gcoord::netcore {
namespace {

// What may wait unsent in the kernel: enough for a full pipe over 10 Gb/s and 100 us, and less than
// a millisecond of delay for a heartbeat behind it.
constexpr int kNotSentBytes = 256 * 1024;

// A flood of strangers should be refused by us, with a count, not by the kernel in silence.
constexpr int kListenBacklog = 512;

std::string system_text(int error) {
  return std::strerror(error);
}

Status listen_failure(const std::string& what, int error) {
  return Status{StatusCode::FailedPrecondition,
                what + ": " + system_text(error) + "; choose a free port of this machine",
                kListenFailed};
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

void FileDescriptor::reset() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

std::string to_string(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address.storage, sizeof(v4));
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    return std::string{text} + ":" + std::to_string(ntohs(v4.sin_port));
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address.storage, sizeof(v6));
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
  return "[" + std::string{text} + "]:" + std::to_string(ntohs(v6.sin6_port));
}

bool parse_numeric_address(const std::string& host, std::uint16_t port, SocketAddress& address) {
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&address.storage, &v4, sizeof(v4));
    address.length = sizeof(v4);
    return true;
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&address.storage, &v6, sizeof(v6));
    address.length = sizeof(v6);
    return true;
  }
  return false;
}

Result<FileDescriptor> listen_socket(const SocketAddress& address, std::uint16_t& bound_port) {
  FileDescriptor fd{
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  const int on = 1;
  // A restarted node must get its port back while connections of its last life linger.
  if (!fd.is_open() || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0) {
    return listen_failure("there is no socket to listen on", errno);
  }
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 ||
      ::listen(fd.get(), kListenBacklog) != 0) {
    return listen_failure("cannot listen for peers on " + to_string(address), errno);
  }
  SocketAddress bound;
  bound.length = sizeof(bound.storage);
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  // The port lies at the same place in both address families.
  sockaddr_in port_view{};
  std::memcpy(&port_view, &bound.storage, sizeof(port_view));
  bound_port = ntohs(port_view.sin_port);
  return fd;
}

Result<FileDescriptor> connect_socket(const SocketAddress& address) {
  FileDescriptor fd{
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd.is_open()) {
    return Status{StatusCode::ResourceExhausted, "no socket: " + system_text(errno)};
  }
  const int started =
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length);
  if (started != 0 && errno != EINPROGRESS) {
    return Status{StatusCode::Unavailable,
                  "cannot connect to " + to_string(address) + ": " + system_text(errno)};
  }
  return fd;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t length = sizeof(error);
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

void tune_socket(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kNotSentBytes, sizeof(kNotSentBytes));
}

}  // namespace gcoord::netcore
