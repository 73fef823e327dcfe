// A server for tests of HTTP clients that answers as a script says, and not as HTTP would have it.
#pragma once

#include "common/http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord {

// What is sent for one request.
struct ScriptedAnswer {
  ScriptedAnswer(const char* text) : bytes(text) {}

  ScriptedAnswer(std::string text) : bytes(std::move(text)) {}

  ScriptedAnswer(std::string text, std::string piece)
      : bytes(std::move(text)), repeated(std::move(piece)) {}

  std::string bytes;
  std::string repeated = {};  // Sent again and again until the client goes.
  bool silent = false;        // Behind that it says nothing until the client goes.
};

inline ScriptedAnswer then_silence(std::string text) {
  ScriptedAnswer answer{std::move(text)};
  answer.silent = true;
  return answer;
}

// One connection after another; on each, each request that comes gets the next answer. Every
// connection is waited for, so a test has the client make them all.
class ScriptedServer {
 public:
  using Connections = std::vector<std::vector<ScriptedAnswer>>;

  explicit ScriptedServer(Connections connections, int family = AF_INET) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* address =
        family == AF_INET6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
    socklen_t size = family == AF_INET6 ? sizeof v6 : sizeof v4;
    listener_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bound_ = ::bind(listener_, address, size) == 0 && ::listen(listener_, 8) == 0;
    getsockname(listener_, address, &size);
    port_ = std::to_string(ntohs(family == AF_INET6 ? v6.sin6_port : v4.sin_port));
    host_ = family == AF_INET6 ? "::1" : "127.0.0.1";
    if (bound_) {
      thread_ = std::thread([this, connections = std::move(connections)] {
        for (const auto& answers : connections) {
          serve(answers);
        }
      });
    }
  }

  ~ScriptedServer() {
    end();
    ::close(listener_);
  }

  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  bool bound() const { return bound_; }

  HttpOrigin origin() const { return {.host = host_, .port = port_}; }

  std::string url(const std::string& path) const { return "http://" + host_ + ":" + port_ + path; }

  // The requests, after the last answer.
  const std::vector<std::string>& end() {
    if (thread_.joinable()) {
      thread_.join();
    }
    return requests_;
  }

 private:
  void serve(const std::vector<ScriptedAnswer>& answers) {
    const int socket = ::accept(listener_, nullptr, nullptr);
    for (const ScriptedAnswer& answer : answers) {
      const std::string request = receive(socket);
      if (request.empty()) {
        break;  // The client went.
      }
      requests_.push_back(request);
      send_all(socket, answer.bytes);
      while (!answer.repeated.empty() && send_all(socket, answer.repeated)) {
      }
      if (answer.silent) {
        receive(socket);
      }
    }
    ::close(socket);
  }

  static std::string receive(int socket) {
    std::string bytes(4096, '\0');
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    return bytes.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }

  static bool send_all(int socket, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent < 0) {
        return false;
      }
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }

  int listener_ = -1;
  bool bound_ = false;
  std::string host_;
  std::string port_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace gcoord
