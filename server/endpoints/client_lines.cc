#include "server/endpoints/client_lines.h"

#include "common/text/printable.h"
#include "server/endpoints/frontend_metrics.h"
#include "server/platform/endpoint_name.h"
#include "server/platform/operator_log.h"

#include <string>
#include <string_view>

namespace gcoord::server {

namespace {

bool wanted() {
  return log_enabled(LogComponent::Clients, LogLevel::Debug);
}

std::string origin_of(const Connection::Client& client) {
  if (client.local.has_value()) {
    return "unix:uid:" + std::to_string(client.local->uid) + " (process " +
           std::to_string(client.local->pid) + ")";
  }
  return to_string(Endpoint{client.address.address().to_string(), client.address.port()});
}

// Why the node closed a connection that an operator may want to hear of; empty: for none of these.
std::string_view complaint(CloseReason reason) {
  switch (reason) {
    case CloseReason::SlowReader:
      return "it does not read its replies";
    case CloseReason::Memory:
      return "it held the most when the memory of clients was full";
    case CloseReason::SlowFrame:
      return "it did not end a frame in time";
    case CloseReason::Certificate:
      return "its certificate is revoked (GC3105)";
    default:
      return "";
  }
}

}  // namespace

std::string describe_client(const Connection& connection) {
  const std::string& name = connection.client.name;
  return "connection " + protocol::connection_name(connection.id()) + " of " +
         origin_of(connection.client) + (name.empty() ? "" : " (" + in_quotes(name) + ")");
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

void log_welcome(const Connection& connection,
                 const protocol::Welcome& welcome,
                 const Warnings& warnings) {
  if (has_foreign_certificate(connection.identity) && warnings.limit.may_log(warnings.now_ms)) {
    const security::TlsPeer* const peer = connection.peer();
    const std::uint64_t unsaid = warnings.limit.take_unsaid();
    log_warning(LogComponent::Clients,
                "{} is nobody here: its certificate {} names nobody of this cluster (GC6738){}",
                describe_client(connection),
                peer == nullptr ? "" : peer->serial,
                unsaid == 0 ? "" : "; so it was with " + std::to_string(unsaid) + " others");
  }
  if (wanted()) {
    log_debug(LogComponent::Clients,
              "{} is welcome: version {}, features {:#x}",
              describe_client(connection),
              welcome.version,
              welcome.features);
  }
}

void log_tls(const Connection& connection, const Warnings& warnings) {
  const TlsNews& news = *connection.tls();
  if (news.state == TlsState::Open) {
    if (wanted()) {
      log_debug(LogComponent::Clients,
                "{} speaks TLS{}",
                describe_client(connection),
                news.peer.has_value() ? " with certificate " + news.peer->serial : "");
    }
    return;
  }
  // On this host nobody listens in between; the metric counts it, too.
  const bool harmless = news.state == TlsState::Plain && connection.share().loopback();
  if (harmless || !warnings.limit.may_log(warnings.now_ms)) {
    return;
  }
  const std::uint64_t unsaid = warnings.limit.take_unsaid();
  log_warning(LogComponent::Clients,
              "{}: {}{}",
              describe_client(connection),
              news.state == TlsState::Plain ? "it speaks plain text, which this port still permits"
              : news.state == TlsState::Forbidden
                  ? "it speaks plain text and is refused: this port speaks TLS only"
                  : "TLS: " + news.failure.to_string(),
              unsaid == 0 ? "" : "; so it was with " + std::to_string(unsaid) + " others");
}

void log_end(const Connection& connection, CloseReason reason, const Warnings& warnings) {
  const std::string_view why = complaint(reason);
  if (!why.empty() && log_enabled(LogComponent::Clients, LogLevel::Warning) &&
      warnings.limit.may_log(warnings.now_ms)) {
    const std::uint64_t unsaid = warnings.limit.take_unsaid();
    log_warning(LogComponent::Clients,
                "{} was closed ({}): {}; {} bytes wait, {} requests came{}",
                describe_client(connection),
                close_reason_name(reason),
                why,
                connection.backlog_bytes(),
                connection.client.requests,
                unsaid == 0 ? "" : "; so were " + std::to_string(unsaid) + " others");
  } else if (wanted()) {
    log_debug(LogComponent::Clients,
              "{} ends after {} requests: {}",
              describe_client(connection),
              connection.client.requests,
              close_reason_name(reason));
  }
}

}  // namespace gcoord::server
