#include "server/endpoints/frontend_metrics.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::server {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(CloseReason::Count)> kCloseNames = {
    "by_client",
    "bad_frame",
    "bad_hello",
    "slow_reader",
    "idle",
    "full",
    "stopping",
    "memory",
    "gave_way",
    "slow_frame",
    "tls",
    "denied",
    "identity",
    "revoked",
    "expired",
    "certificate_revoked"};

constexpr std::array<std::string_view, kHeldKinds> kHeldNames = {"in", "begun", "out"};

}  // namespace

std::string_view close_reason_name(CloseReason reason) {
  return kCloseNames[static_cast<std::size_t>(reason)];
}

FrontEndMetrics::FrontEndMetrics(MetricsRegistry& metrics)
    : connections(metrics.gauge(
          {"gcoord_server_connections", "Client connections that are open.", "", ""})),
      sources(metrics.gauge({"gcoord_server_client_sources",
                             "Addresses that client connections come from.",
                             "",
                             ""})),
      accepted(metrics.counter({"gcoord_server_connections_accepted_total",
                                "Client connections that were accepted.",
                                "",
                                ""})),
      foreign_certificates(metrics.counter(
          {"gcoord_server_client_foreign_certificates_total",
           "Client connections with a good certificate that names nobody of this cluster: they are "
           "anonymous.",
           "",
           ""})),
      tls(metrics, "client") {
  for (std::size_t reason = 0; reason < closed.size(); ++reason) {
    closed[reason] = &metrics.counter({"gcoord_server_connections_closed_total",
                                       "Client connections that were closed, by reason.",
                                       "reason",
                                       std::string(kCloseNames[reason])});
  }
  for (std::size_t reason = 1; reason < bad_frames.size(); ++reason) {
    const auto name = protocol::bad_frame_name(static_cast<protocol::BadFrame>(reason));
    bad_frames[reason] = &metrics.counter({"gcoord_server_client_frames_bad_total",
                                           "Frames of clients that were refused, by reason.",
                                           "reason",
                                           std::string(name)});
  }
  for (std::size_t kind = 0; kind < held.size(); ++kind) {
    held[kind] = &metrics.gauge({"gcoord_server_client_memory_bytes",
                                 "Memory of client connections: requests (in), unfinished frames "
                                 "(begun), replies that are not read yet (out).",
                                 "kind",
                                 std::string(kHeldNames[kind])});
  }
  for (std::size_t of = 0; of < plaintext_.size(); ++of) {
    plaintext_[of] = &metrics.gauge(
        {"gcoord_server_client_plaintext_connections",
         "Client connections that are open and without TLS, whatever the port demands by now, by "
         "where they come from.",
         "from",
         std::string(address_class_name(static_cast<AddressClass>(of)))});
  }
}

void FrontEndMetrics::count_plaintext(const Connection& connection, std::int64_t change) {
  if (connection.tls() == nullptr || connection.tls()->state == TlsState::Plain) {
    const AddressClass from = address_class(connection.client.address.address());
    plaintext_[static_cast<std::size_t>(from)]->add(change);
  }
}

void FrontEndMetrics::show(const ConnectionAccount& account) {
  sources.set(static_cast<std::int64_t>(account.source_count()));
  for (std::size_t kind = 0; kind < held.size(); ++kind) {
    held[kind]->set(static_cast<std::int64_t>(account.held(static_cast<HeldBytes>(kind))));
  }
}

}  // namespace gcoord::server
