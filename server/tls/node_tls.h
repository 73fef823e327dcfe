// TLS of a node: one set of files, and the rules of its ports made of it.
//
// Opened with the node; then its files are looked at every second, and its choices may change. A
// failure leaves the files in use as they were, is counted and logged; one is a certificate that
// has expired or names another node, or a revocation list that has expired (own_files.h).
// Connections that are open keep what they began with, unless a new list revokes their
// certificates: whoever has them hears of it by the listener. The loop's thread; the ports are read
// by any.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "security/tls/source.h"
#include "server/tls/choices.h"
#include "server/tls/expiry_lines.h"
#include "server/tls/own_files.h"
#include "server/tls/port_tls.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace gcoord::server {

class NodeTls {
 public:
  // Without `own` the names of certificates are not checked; `clock`: for tests.
  explicit NodeTls(MetricsRegistry& metrics, OwnNode own = {}, WallClock clock = wall_seconds);

  // Whether the revocation lists in use have this certificate, or one of its chain.
  using Revokes = std::function<bool(const security::TlsPeer&)>;

  // What to call whenever other files have come into use.
  void set_on_change(std::function<void(const Revokes&)> on_change) {
    on_change_ = std::move(on_change);
  }

  const OwnNode& own() const { return own_; }

  // Once, before the ports listen. Failures as of check_tls(), security::TlsContext::load() and
  // judge_own_files().
  Status open(const TlsChoices& choices);

  // Other choices from now on; a failure is in the log. Files are loaded anew unless no port uses
  // them. Where the same files cannot be loaded any more (they have expired, or are half written)
  // the modes of the ports change all the same, with the files in use: TLS can be switched off.
  // Returns the choices in use, which are those from before after a failure.
  const TlsChoices& change(const TlsChoices& choices);

  // With every pass; about every second it loads the files again if they have become others.
  // `now_ms`: of a clock that only grows.
  void look(std::uint64_t now_ms);

  const PortTls& client() const { return client_; }

  const PortTls& http() const { return http_; }

 private:
  // True: with files that are new. False: with those in use, after a failure that was logged.
  Result<bool> load(const TlsChoices& choices);
  Result<std::unique_ptr<security::TlsSource>> load_files(const TlsChoices& choices);
  bool serves(const TlsChoices& choices) const;
  void set_ports();

  static constexpr std::uint64_t kLookMs = 1000;

  OwnNode own_;
  WallClock clock_;
  std::function<void(const Revokes&)> on_change_ = [](const Revokes&) {};
  TlsChoices choices_;
  ExpiryLines expiry_;
  std::unique_ptr<security::TlsSource> source_;  // None: no certificate.
  PortTls client_;
  PortTls http_;
  Counter& loaded_;
  Counter& failed_;
  Gauge& certificate_end_s_;
  Gauge& list_end_s_;
  std::uint64_t next_look_ms_ = 0;
};

}  // namespace gcoord::server
