// The few socket calls that the tcp transport needs, with errors as Status. Linux only.
//
// Every socket made here is non-blocking, closed on exec and has TCP_NODELAY. Not thread-safe.
#pragma once

#include "common/status.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace gcoord::netcore {

// Owns a file descriptor; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  explicit FileDescriptor(int fd) : fd_(fd) {}

  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }

  bool is_open() const { return fd_ >= 0; }

  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

  void reset();

 private:
  int fd_ = -1;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

// "127.0.0.1:7000" or "[::1]:7000".
std::string to_string(const SocketAddress& address);

// A numeric IPv4 or IPv6 address; false for names.
bool parse_numeric_address(const std::string& host, std::uint16_t port, SocketAddress& address);

// The number of listen_socket's failures in the one table (docs/reference/errors.md): GC3004.
inline constexpr std::uint32_t kListenFailed = 3004;

// Binds and listens; fills the port that the system chose. Failures: FailedPrecondition with
// kListenFailed, a text that names the address.
Result<FileDescriptor> listen_socket(const SocketAddress& address, std::uint16_t& bound_port);

// Starts to connect; the socket becomes writable when it is done.
Result<FileDescriptor> connect_socket(const SocketAddress& address);

// 0 once a started connect succeeded, its errno otherwise.
int connect_error(int fd);

// Options of a connected socket: no delay, and little unsent data in the kernel, so that what is
// urgent can still overtake in user space.
void tune_socket(int fd);

}  // namespace gcoord::netcore
