// Lines of the node's log about one HTTP port: refused requests, connections that are closed or
// refused at a limit.
//
// Whatever a client does can be said: a few lines of a kind at once, then one in ten seconds, which
// says how many were left out. What a client sent stands in quotes. One thread.
#pragma once

#include "server/platform/log_rate_limit.h"

#include <sys/socket.h>

#include <cstddef>
#include <string>
#include <utility>

namespace gcoord::server {

// "10.0.0.9:51544", "[2001:db8::1]:80"; "an unknown address" for another family, or none.
std::string address_text(const sockaddr* address);

class HttpPortLines {
 public:
  // `port` is the name of the port, such as "metrics".
  explicit HttpPortLines(std::string port) : port_(std::move(port)) {}

  struct Refused {
    std::string line;  // "GET /page".
    const sockaddr* from = nullptr;
    int status = 0;
  };

  // A request that got an answer in the four hundreds.
  void on_refused(const Refused& request);

  // A newcomer for which another connection was closed, or which was refused itself: at once, or
  // when it wanted more than a page of health.
  void on_crowded(const sockaddr* newcomer, bool taken, std::size_t open_count);

  // Connections whose time for a header or an answer was over.
  void on_slow(std::size_t count);

 private:
  const std::string port_;
  LogRateLimit refused_;
  LogRateLimit crowded_;
  LogRateLimit slow_;
};

}  // namespace gcoord::server
