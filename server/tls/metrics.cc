#include "server/tls/metrics.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::server {
namespace {

Counter& handshakes(MetricsRegistry& metrics, const std::string& port, const char* result) {
  return metrics.counter({"gcoord_server_" + port + "_tls_handshakes_total",
                          "TLS handshakes of connections to this kind of port: full ones, those by "
                          "a session ticket (resumed), and those that failed.",
                          "result",
                          result});
}

bool private_v4(std::uint32_t address) {
  return (address >> 24) == 10 || (address >> 20) == 0xac1 || (address >> 16) == 0xc0a8 ||
         (address >> 16) == 0xa9fe;
}

}  // namespace

std::string_view address_class_name(AddressClass of) {
  static constexpr std::array<std::string_view, 3> kNames = {"loopback", "private", "public"};
  return kNames[static_cast<std::size_t>(of)];
}

AddressClass address_class(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return address_class(asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()));
  }
  if (address.is_loopback()) {
    return AddressClass::Loopback;
  }
  if (address.is_v4()) {
    return private_v4(address.to_v4().to_uint()) ? AddressClass::Private : AddressClass::Public;
  }
  const bool local = (address.to_v6().to_bytes()[0] & 0xfe) == 0xfc;
  return local || address.to_v6().is_link_local() ? AddressClass::Private : AddressClass::Public;
}

PortTlsMetrics::PortTlsMetrics(MetricsRegistry& metrics, const std::string& port)
    : full_(handshakes(metrics, port, "full")),
      resumed_(handshakes(metrics, port, "resumed")),
      failed_(handshakes(metrics, port, "failed")),
      revoked_(metrics.counter({"gcoord_server_" + port + "_tls_revoked_total",
                                "Connections to this kind of port that were closed because a new "
                                "revocation list has their certificate, or one of its chain.",
                                "",
                                ""})) {
  for (std::size_t of = 0; of < plain_.size(); ++of) {
    plain_[of] = &metrics.counter(
        {"gcoord_server_" + port + "_plaintext_connections_total",
         "Connections that began without TLS while it is permissive or required on this kind of "
         "port, by where they came from.",
         "from",
         std::string(address_class_name(static_cast<AddressClass>(of)))});
  }
}

void PortTlsMetrics::count(const TlsNews& news, const asio::ip::address& from) {
  switch (news.state) {
    case TlsState::Open:
      (news.resumed ? resumed_ : full_).add();
      break;
    case TlsState::Failed:
      failed_.add();
      break;
    case TlsState::Plain:
    case TlsState::Forbidden:
      plain_[static_cast<std::size_t>(address_class(from))]->add();
      break;
    case TlsState::Begins:
      break;
  }
}

}  // namespace gcoord::server
