// A client of HTTP/1.1 for one server: a request goes out, one bounded answer comes back.
//
// The only place in this repository that speaks HTTP/1.1 as a client, apart from client/health,
// which says why; grpc_channel.h beside it speaks HTTP/2. libcurl does the work
// (common/http/curl_library.h): chunked answers, kept connections, IPv6, TLS 1.3. The server is not
// trusted: it gets no more than the limits allow, whatever it sends, announces or leaves out.
//
// Threads: every function blocks. One thread at a time per object; objects share nothing, so that
// several threads may use one each. No signals are used, and no descriptor passes to a child.
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

// All that a server can make a client spend. The head of an answer may have 8 KiB besides.
struct HttpLimits {
  std::chrono::milliseconds timeout;  // Of the whole exchange: names, connecting, redirects.
  std::size_t body_bytes_max;
  std::chrono::milliseconds connect_timeout{0};  // Names and connecting alone; 0: no own limit.
};

struct HttpContent {
  std::string type;  // "application/json".
  std::string body;
};

// How the body that was read relates to the one that was sent.
enum class HttpBody : std::uint8_t {
  Whole,
  Unsized,  // It ended with the connection, and nothing said how long it should be.
  Cut,      // It ended before what the answer had announced.
  TooLong,  // Above body_bytes_max, or announced so.
};

struct HttpResponse {
  int status = 0;
  HttpBody extent = HttpBody::Whole;
  std::string body;  // Of one that is not whole, some of its beginning.
};

enum class HttpConnection : std::uint8_t {
  Fresh,  // One connection for each request.
  Kept,   // One for all of them, opened again when the server has closed it.
};

// Which proxies a request may take. Loopback is 127.0.0.0/8, ::1 and localhost, as the origin has
// it; nothing is resolved to find out.
enum class HttpProxy : std::uint8_t {
  BeyondLoopback,  // That of the environment (http_proxy, no_proxy), but to loopback none.
  Environment,     // That of the environment, to loopback too.
  None,
};

// TLS 1.3 to the origin: https. PEM files, read for each connection; without a CA the system's are
// believed. The certificate must name the origin's host. A key that others than its owner may read
// is refused.
struct HttpTls {
  bool enabled = false;
  std::string cacert{};
  std::string cert{};  // Of the client, where the server demands one, with
  std::string key{};   // its key.
  // Sent as "Authorization: Bearer", with TLS and to loopback alone, and never on to where a
  // redirect leads; empty: none.
  std::string bearer{};
  bool bearer_in_plain = false;  // Also without TLS beyond loopback, where others can read it.
};

struct HttpOptions {
  HttpConnection connection = HttpConnection::Fresh;
  HttpProxy proxy = HttpProxy::BeyondLoopback;
  // Redirects that a get() follows, to any server but by the same scheme only. 0: the redirect is
  // the answer.
  std::uint32_t redirects_max = 0;
  HttpTls tls{};
};

class HttpClient {
 public:
  explicit HttpClient(HttpOrigin origin, HttpOptions options = {});
  ~HttpClient();

  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `path` begins with '/' and is as it goes out, query and escapes included. Any status of HTTP is
  // an answer, not a failure. Failures: InvalidArgument for an origin or a path that no request can
  // name, PermissionDenied for a key that others may read, Unauthenticated when the server's
  // certificate is not believed, Unavailable when no connection or no whole answer came in time
  // (the server may have acted), DataLoss when what came back is not HTTP.
  //
  // A kept connection may turn out to be closed. A get() then takes a new one and goes out again; a
  // post() goes out once at most, and is Unavailable.
  Result<HttpResponse> get(const std::string& path, const HttpLimits& limits);
  Result<HttpResponse> post(const std::string& path,
                            const HttpContent& content,
                            const HttpLimits& limits);

 private:
  class Handle;

  Result<HttpResponse> exchange(const std::string& path,
                                const HttpContent* content,
                                const HttpLimits& limits);

  HttpOrigin origin_;
  HttpOptions options_;
  std::unique_ptr<Handle> handle_;  // Null before the first request.
};

}  // namespace gcoord
