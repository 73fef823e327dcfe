// Metrics of client connections: how many there are, why they were closed, what they hold.
//
// Any thread.
#pragma once

#include "common/host/metrics.h"
#include "protocol/frame.h"
#include "server/endpoints/connection.h"
#include "server/endpoints/connection_account.h"
#include "server/tls/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gcoord::server {

// "by_client" and the like, as the metric's label has it. Not of Count.
std::string_view close_reason_name(CloseReason reason);

struct FrontEndMetrics {
  explicit FrontEndMetrics(MetricsRegistry& metrics);

  // What the account says now.
  void show(const ConnectionAccount& account);

  // A connection is welcome, or one that was has ended: counts it if it is without TLS; and one
  // whose certificate names nobody of this cluster.
  void on_welcome(const Connection& connection) {
    count_plaintext(connection, 1);
    foreign_certificates.add(has_foreign_certificate(connection.identity) ? 1 : 0);
  }

  void on_end(const Connection& connection) { count_plaintext(connection, -1); }

  Gauge& connections;
  Gauge& sources;
  Counter& accepted;
  Counter& foreign_certificates;
  PortTlsMetrics tls;
  std::array<Counter*, static_cast<std::size_t>(CloseReason::Count)> closed{};
  std::array<Counter*, static_cast<std::size_t>(protocol::BadFrame::Count)> bad_frames{};
  std::array<Gauge*, kHeldKinds> held{};

 private:
  void count_plaintext(const Connection& connection, std::int64_t change);

  std::array<Gauge*, 3> plaintext_{};  // By AddressClass.
};

}  // namespace gcoord::server
