#include "server/gate/refusals.h"

#include "common/name_hash.h"
#include "server/platform/operator_log.h"

#include <string>

namespace gcoord::server {

namespace {

std::size_t bucket_of(const security::Principal& principal) {
  return hash_name(principal.name).low % Refusals::kBuckets;
}

}  // namespace

MetricName Refusals::name_of(std::string_view right) {
  return {"gcoord_server_requests_not_allowed_total",
          "Requests that were refused because the client's principal lacks a right; identity: the "
          "request takes none, but a client that has proven who it is.",
          "right",
          std::string{right}};
}

Refusals::Refusals(MetricsRegistry& metrics)
    : unidentified_(metrics.counter(name_of("identity"))),
      unconfirmed_(metrics.counter({"gcoord_server_rights_unconfirmed_total",
                                    "Changes that were refused because the node could not confirm "
                                    "its copy of the roles.",
                                    "",
                                    ""})),
      watches_(metrics.counter({"gcoord_server_watches_not_allowed_total",
                                "Watches that were ended because their right was taken away.",
                                "",
                                ""})),
      waits_(metrics.counter({"gcoord_server_waits_not_allowed_total",
                              "Waits at locks, groups and rendezvous that were ended because their "
                              "right was taken away.",
                              "",
                              ""})) {
  for (const security::RightRow& row : security::right_rows()) {
    by_right_[static_cast<std::size_t>(row.right)] = &metrics.counter(name_of(row.name));
  }
}

bool Refusals::add(const Refused& refused, std::uint64_t now_ms) {
  const bool known = refused.missing.scope != DemandScope::Identified;
  (known ? *by_right_[static_cast<std::size_t>(refused.missing.right)] : unidentified_).add();
  return limits_[bucket_of(refused.principal)].may_log(now_ms);
}

bool Refusals::add_ended_wait(const security::Principal& principal, std::uint64_t now_ms) {
  waits_.add();
  return limits_[bucket_of(principal)].may_log(now_ms);
}

void Refusals::log(const security::Principal& principal,
                   std::string_view client,
                   std::string_view text) {
  const std::uint64_t unsaid = limits_[bucket_of(principal)].take_unsaid();
  if (unsaid == 0) {
    log_warning(LogComponent::Clients, "{} was refused: {}", client, text);
  } else {
    log_warning(LogComponent::Clients,
                "{} was refused: {}; {} more refusals before it are not logged",
                client,
                text,
                unsaid);
  }
}

}  // namespace gcoord::server
