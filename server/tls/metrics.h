// Metrics of TLS on one kind of port. Any thread.
#pragma once

#include "common/host/metrics.h"
#include "server/tls/connection_tls.h"

#include <asio/ip/address.hpp>

#include <array>
#include <string>
#include <string_view>

namespace gcoord::server {

// Where a connection comes from, coarsely: labels a metric.
enum class AddressClass : std::uint8_t { Loopback, Private, Public };

// Private: of no use beyond a site (RFC 1918, RFC 4193), or beyond a link.
AddressClass address_class(const asio::ip::address& address);

std::string_view address_class_name(AddressClass of);

class PortTlsMetrics {
 public:
  // `port`: "client" or "http".
  PortTlsMetrics(MetricsRegistry& metrics, const std::string& port);

  // A connection has come out of state Begins.
  void count(const TlsNews& news, const asio::ip::address& from);

  // A connection was closed because a revocation list has its certificate.
  void count_revoked() { revoked_.add(); }

 private:
  Counter& full_;
  Counter& resumed_;
  Counter& failed_;
  Counter& revoked_;
  std::array<Counter*, 3> plain_;
};

}  // namespace gcoord::server
