// A client of HTTP/1.1 for one server: a request goes out, one bounded answer comes back.
//
// The only place in this repository that speaks HTTP as a client (client/network_probe, which is
// asynchronous, apart). No TLS, no redirects. The server is not trusted: no more is read than was
// allowed, and nothing waits longer than the timeout. Blocking; one thread per object.
#pragma once

#include "common/status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gcoord {

// The server: a name or an address, without brackets, and a decimal port.
struct HttpOrigin {
  std::string host;
  std::string port;
};

struct HttpLimits {
  std::chrono::milliseconds timeout;  // Of the whole exchange, connecting included.
  std::size_t body_bytes_max;
};

struct HttpContent {
  std::string type;  // "application/json".
  std::string body;
};

// How the body that was read relates to the one that was sent.
enum class HttpBody : std::uint8_t {
  Whole,
  Unsized,  // It ended with the connection, and nothing said how long it should be.
  Cut,      // It is not as long as the answer said.
  TooLong,  // Above body_bytes_max.
};

struct HttpResponse {
  int status = 0;
  HttpBody extent = HttpBody::Whole;
  std::string body;  // Of one that is not whole, some of its beginning.
};

class HttpClient {
 public:
  enum class Connection : std::uint8_t {
    Fresh,  // One connection for each request.
    Kept,   // One for all of them, opened again after a failure.
  };

  explicit HttpClient(HttpOrigin origin, Connection connection = Connection::Fresh);
  ~HttpClient();

  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `path` begins with '/'. Any status of HTTP is an answer, not a failure. Failures: Unavailable
  // when no connection or no whole answer came in time (the server may have acted), DataLoss when
  // what came back is not HTTP.
  Result<HttpResponse> get(const std::string& path, const HttpLimits& limits);
  Result<HttpResponse> post(const std::string& path,
                            const HttpContent& content,
                            const HttpLimits& limits);

 private:
  class Socket;

  Result<HttpResponse> exchange(const std::string& request, const HttpLimits& limits);
  std::string head_of(const char* method, const std::string& path) const;

  HttpOrigin origin_;
  Connection connection_;
  std::unique_ptr<Socket> socket_;  // Connected, or null.
};

}  // namespace gcoord
