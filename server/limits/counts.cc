#include "server/limits/counts.h"

#include "security/limits/facts.h"
#include "server/platform/operator_log.h"

#include <string>

namespace gcoord::server {

namespace {

constexpr std::array<std::string_view, kLimitedByCount> kNames = {"rate",
                                                                  "prefix_rate",
                                                                  "sessions",
                                                                  "locks",
                                                                  "waiters",
                                                                  "watches",
                                                                  "bytes",
                                                                  "session_ttl_ms_max"};

}  // namespace

std::string_view limited_by_name(LimitedBy what) {
  return kNames[static_cast<std::size_t>(what)];
}

LimitCounts::LimitCounts(MetricsRegistry& metrics)
    : limits_(metrics.gauge({"gcoord_server_limits", "Limits of the cluster.", "", ""})),
      denials_(metrics.gauge({"gcoord_server_denials",
                              "Denials of the cluster, with those that have ended lately.",
                              "",
                              ""})),
      accounts_(metrics.gauge(
          {"gcoord_server_limit_accounts", "Identities whose use this node counts.", "", ""})) {
  for (std::size_t k = 0; k < limited_.size(); ++k) {
    limited_[k] = &metrics.counter({"gcoord_server_requests_limited_total",
                                    "Requests that were refused for a limit, by what it limits.",
                                    "limit",
                                    std::string{kNames[k]}});
  }
  for (std::size_t k = 0; k < denied_.size(); ++k) {
    const auto scope = static_cast<security::DenialScope>(k + 1);
    denied_[k] = &metrics.counter({"gcoord_server_connections_denied_total",
                                   "Connections that were refused or closed for a denial.",
                                   "by",
                                   std::string{security::denial_scope_name(scope)}});
  }
}

void LimitCounts::log(std::string_view client, std::string_view text) {
  const std::uint64_t unsaid = limit_.take_unsaid();
  if (unsaid == 0) {
    log_warning(LogComponent::Clients, "{} was limited: {}", client, text);
  } else {
    log_warning(LogComponent::Clients,
                "{} was limited: {}; {} more refusals before it are not logged",
                client,
                text,
                unsaid);
  }
}

}  // namespace gcoord::server
