// A service manager's end of sd_notify: a datagram socket that a test reads.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

namespace gcoord {

class NotifySocket {
 public:
  // A path, or "@name" in the abstract space; nothing is waited for longer than a minute, which
  // only bounds a failure.
  explicit NotifySocket(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_LT(name.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@') {
      address.sun_path[0] = '\0';
    }
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0) << name;
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  ~NotifySocket() { ::close(socket_); }

  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // The next notice; empty at the end of patience.
  std::string next() { return receive(0); }

  // Whether one has come that was not read.
  bool waits() {
    char byte = 0;
    return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  // Reads on to the first notice that begins like this.
  std::string next_with(const std::string& start) {
    std::string notice = next();
    while (!notice.empty() && !notice.starts_with(start)) {
      notice = next();
    }
    return notice;
  }

 private:
  std::string receive(int flags) {
    std::array<char, 4096> text{};
    const ssize_t got = ::recv(socket_, text.data(), text.size(), flags);
    return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

  int socket_;
};

}  // namespace gcoord
