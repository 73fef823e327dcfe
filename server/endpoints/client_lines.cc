#include "server/endpoints/client_lines.h"

#include "common/text/printable.h"
#include "server/endpoints/frontend_metrics.h"
#include "server/platform/endpoint_name.h"
#include "server/platform/operator_log.h"

namespace gcoord::server {

namespace {

bool wanted() {
  return log_enabled(LogComponent::Clients, LogLevel::Debug);
}

}  // namespace

std::string describe_client(const Connection& connection) {
  const asio::ip::tcp::endpoint& address = connection.client.address;
  const std::string& name = connection.client.name;
  return "connection " + protocol::connection_name(connection.id()) + " of " +
         to_string(Endpoint{address.address().to_string(), address.port()}) +
         (name.empty() ? "" : " (" + in_quotes(name) + ")");
}

void log_begin(const Connection& connection, std::size_t open_count) {
  if (wanted()) {
    log_debug(LogComponent::Clients,
              "{} {}; open: {}",
              describe_client(connection),
              connection.share().placed() ? "begins" : "is refused, there are too many",
              open_count);
  }
}

void log_welcome(const Connection& connection, const protocol::Welcome& welcome) {
  if (wanted()) {
    log_debug(LogComponent::Clients,
              "{} is welcome: version {}, features {:#x}",
              describe_client(connection),
              welcome.version,
              welcome.features);
  }
}

void log_end(const Connection& connection, CloseReason reason) {
  if (wanted()) {
    log_debug(LogComponent::Clients,
              "{} ends after {} requests: {}",
              describe_client(connection),
              connection.client.requests,
              close_reason_name(reason));
  }
}

}  // namespace gcoord::server
