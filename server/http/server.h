// One HTTP port of a node: GET and HEAD of pages that a handler makes, within HttpServerLimits.
//
// Every port of a node that speaks HTTP is one of these, so that limits and TLS are here alone. TLS
// comes before the library (tls_front.h), in the same thread. One thread turns all sockets, by
// libmicrohttpd: a connection that is slow, or says nothing, holds memory and a place in the limits
// but no thread. `threads` more threads run the handler. Pages that must come while all of them are
// busy are answered at once, by the thread of the sockets. Who comes too late is closed and
// counted; a client can cause nothing else.
//
// Metrics, each with the label `port`: gcoord_http_requests_total, gcoord_http_connections,
// gcoord_http_slow_connections_total, gcoord_http_crowded_connections_total.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "server/http/limits.h"
#include "server/http/message.h"
#include "server/platform/endpoint_name.h"
#include "server/tls/port_tls.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace gcoord::server {

// Called by the thread of all sockets, for each request first. It never waits, because the whole
// port would. Nothing: the page is the handler's.
using HttpAnswerAtOnce = std::function<std::optional<HttpAnswer>(const HttpRequest&)>;

struct HttpServerOptions {
  std::string port_name;  // Of the metrics' label: "ledger".
  std::string option;     // The flag that named the address, without its dashes.
  Endpoint listen;
  HttpServerLimits limits;
  HttpAnswerAtOnce at_once = {};  // Empty: all pages are the handler's.
  const PortTls* tls = nullptr;   // Outlives the server; none: plain text alone.
};

// Called by several threads at once, until the server has ended. It may wait for a disk.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

class HttpServer {
 public:
  // ListenFailed when the address cannot be had, Internal when the system gives no thread or no
  // descriptor. The registry outlives the server.
  static Result<std::unique_ptr<HttpServer>> open(HttpServerOptions options,
                                                  HttpHandler handler,
                                                  MetricsRegistry& metrics);

  // Waits for the handlers that run; requests that none has begun are answered with 503.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace gcoord::server
