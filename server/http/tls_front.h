// Connections of an HTTP port on their way to the library that serves them: accepted here, and with
// TLS relayed (tls_relay.h).
//
// The thread that turns the library's sockets polls these, too. A handshake has the time that a
// request's header has. A connection that the library has ended has the time of an answer to take
// what is left: the library does not count it any more, and a client that reads nothing would keep
// it for ever. Of either kind there are no more than connections may be open; beyond that the
// oldest makes room. A connection whose certificate a new revocation list has is cut before
// anything more of it is served. One thread.
#pragma once

#include "security/tls/revocation_check.h"
#include "server/http/limits.h"
#include "server/http/tls_relay.h"
#include "server/platform/log_rate_limit.h"
#include "server/tls/metrics.h"
#include "server/tls/port_tls.h"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

class TlsFront {
 public:
  struct Options {
    int listening = -1;  // Never blocks; closed with the front.
    std::string port_name;
    HttpServerLimits limits;
    const PortTls& tls;  // It and the registry outlive the front.
    MetricsRegistry& metrics;
  };

  explicit TlsFront(const Options& options);
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  // Appends what to poll for.
  void want(std::vector<pollfd>& polled) const;

  // What poll() filled in of that: `polled` begins with it. Connections that the library shall
  // serve go to `serve`, which has their sockets then.
  void advance(std::span<const pollfd> polled,
               std::uint64_t now_ms,
               const std::function<void(const HttpArrival&)>& serve);

  // In how many milliseconds a handshake or an end is late; `at_most` if none is before.
  std::uint64_t until_late_ms(std::uint64_t now_ms, std::uint64_t at_most) const;

 private:
  void accept(std::uint64_t now_ms, const std::function<void(const HttpArrival&)>& serve);
  void note(const TlsRelay& relay, std::uint64_t now_ms);
  void cut_revoked(std::uint64_t now_ms);
  void cut_if_revoked(TlsRelay& relay, std::uint64_t now_ms);
  void make_room();
  std::uint64_t late_ms(const TlsRelay& relay) const;
  void cut_ending();

  Options options_;
  PortTlsMetrics tls_metrics_;
  LogRateLimit lines_;
  std::shared_ptr<const security::TlsContext> context_;  // By whose lists relays were judged.
  security::RevocationCheck check_{nullptr};
  std::vector<std::unique_ptr<TlsRelay>> relays_;  // By age.
};

}  // namespace gcoord::server
