// TLS of a node: one set of files, and the rules of its ports made of it.
//
// Opened with the node; then its files are looked at every second, and its choices may change. A
// failure leaves everything as it was, is counted and logged. Connections that are open keep what
// they began with. The loop's thread; the ports are read by any.
#pragma once

#include "common/host/metrics.h"
#include "common/status.h"
#include "security/tls/source.h"
#include "server/tls/choices.h"
#include "server/tls/port_tls.h"

#include <cstdint>
#include <memory>

namespace gcoord::server {

class NodeTls {
 public:
  explicit NodeTls(MetricsRegistry& metrics);

  // Once, before the ports listen. Failures as of check_tls() and security::TlsContext::load().
  Status open(const TlsChoices& choices);

  // Other choices from now on; a failure is in the log. Files are loaded anew in any case.
  void change(const TlsChoices& choices);

  // With every pass; about every second it loads the files again if they have become others.
  // `now_ms`: of a clock that only grows.
  void look(std::uint64_t now_ms);

  const PortTls& client() const { return client_; }

  const PortTls& http() const { return http_; }

 private:
  Status load(const TlsChoices& choices);
  void set_ports();

  static constexpr std::uint64_t kLookMs = 1000;

  TlsChoices choices_;
  std::unique_ptr<security::TlsSource> source_;  // None: no certificate.
  PortTls client_;
  PortTls http_;
  Counter& loaded_;
  Counter& failed_;
  Gauge& certificate_end_s_;
  std::uint64_t next_look_ms_ = 0;
};

}  // namespace gcoord::server
