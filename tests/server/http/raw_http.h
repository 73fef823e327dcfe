// A client of HTTP that sends what a test tells it to, whole or not.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::server {

class RawHttp {
 public:
  // To a port of loopback. Nothing is waited for longer than a minute, which only bounds a failure.
  explicit RawHttp(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }

  RawHttp(RawHttp&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }

  RawHttp(const RawHttp&) = delete;

  ~RawHttp() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
  }

  // False once the other side has closed.
  bool send(std::string_view text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  // What comes until the other side closes.
  std::string read_to_end() {
    std::string answer;
    std::array<char, 4096> piece{};
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(socket_, piece.data(), piece.size(), 0);
      answer.append(piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    return answer;
  }

  // What is here by now, if anything.
  std::string read_some() {
    std::array<char, 4096> piece{};
    const ssize_t got = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
    return {piece.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

  // What comes until `end` has come.
  std::string read_until(std::string_view end) {
    std::string answer;
    char next = 0;
    while (!answer.ends_with(end) && ::recv(socket_, &next, 1, 0) == 1) {
      answer += next;
    }
    return answer;
  }

  int socket() const { return socket_; }

 private:
  int socket_;
};

// One request on a connection of its own, "GET /page"; the answer with its header. Each of
// `headers` ends its line.
inline std::string http_answer(std::uint16_t port,
                               const std::string& request,
                               const std::string& headers = "") {
  RawHttp client(port);
  client.send(request + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n");
  return client.read_to_end();
}

inline constexpr std::string_view kHalfRequest = "GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: ";
inline constexpr std::string_view kOtherHalf = "y\r\nConnection: close\r\n\r\n";

}  // namespace gcoord::server
