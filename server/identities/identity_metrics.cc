#include "server/identities/identity_metrics.h"

#include <string>
#include <utility>

namespace gcoord::server {
namespace {

MetricName authentications(std::string result) {
  return {"gcoord_server_authentications_total",
          "Attempts of clients to say who they are, by what came of them.",
          "result",
          std::move(result)};
}

MetricName named(const std::string& name, std::string help) {
  return {"gcoord_server_" + name, std::move(help), "", ""};
}

}  // namespace

IdentityMetrics::IdentityMetrics(MetricsRegistry& registry)
    : passwords_right(registry.counter(authentications("password"))),
      passwords_wrong(registry.counter(authentications("password_wrong"))),
      tokens_good(registry.counter(authentications("token"))),
      tokens_bad(registry.counter(authentications("token_refused"))),
      tokens_from_cache(registry.counter(
          named("tokens_cached_total", "Tokens whose signature had been checked before."))),
      throttled(registry.counter(authentications("throttled"))),
      queue_full(registry.counter(authentications("queue_full"))),
      queue(registry.gauge(named("passwords_queued", "Passwords that wait to be checked."))),
      attached(registry.counter(
          named("sessions_attached_total", "Sessions whose key a connection has shown."))),
      keys_wrong(
          registry.counter(named("session_keys_wrong_total", "Keys that were not the session's."))),
      unattached(registry.counter(
          named("sessions_unattached_total",
                "Requests for sessions that their connection neither opened nor attached."))),
      leaps(registry.counter(
          named("sequences_leaping_total", "Requests refused for a sequence far ahead."))) {}

}  // namespace gcoord::server
