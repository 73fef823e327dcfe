#include "server/requests/service_metrics.h"

#include <string>
#include <utility>

namespace gcoord::server {
namespace {

MetricName named(const std::string& name, std::string help) {
  return MetricName{"gcoord_server_" + name, std::move(help), "", ""};
}

}  // namespace

LockServiceMetrics::LockServiceMetrics(MetricsRegistry& registry)
    : requests(&registry.counter(named("requests_total", "Requests of clients that were taken."))),
      requests_failed(
          &registry.counter(named("requests_failed_total", "Requests answered with an error."))),
      requests_refused(&registry.counter(
          named("requests_refused_total", "Requests refused for their form or a cap."))),
      terms_stale(&registry.counter(named(
          "terms_stale_total", "Acquires and grants that named another term than the leader's."))),
      grants(&registry.counter(named("grants_total", "Locks granted by this node."))),
      waits_timed_out(&registry.counter(
          named("waits_timed_out_total", "Waits that the leader ended at their time."))),
      waits_rebound(&registry.counter(named(
          "waits_rebound_total", "Waits that were asked for anew and stood in line already."))),
      waits(&registry.gauge(named("waits", "Acquires that wait at this leader."))),
      sessions(&registry.gauge(
          named("session_registrations", "Registrations of sessions in shards here."))),
      locks(&registry.gauge(named("locks", "Locks held in shards of this node."))),
      groups(&registry.gauge(named("groups", "Groups in which somebody stands."))),
      group_participants(&registry.gauge(
          named("group_participants", "Members of groups, and sessions that wait at barriers."))),
      group_views(&registry.counter(
          named("group_views_total", "Views of groups that entries of the log made."))),
      group_waits(&registry.gauge(
          named("group_waits", "Requests that wait at this leader for a view, barrier or round."))),
      rendezvous(&registry.gauge(
          named("rendezvous", "Rendezvous that have a round or somebody who waits."))),
      rendezvous_sessions(&registry.gauge(named(
          "rendezvous_sessions", "Sessions that wait for rounds, and members of last rounds."))),
      command_us(&registry.histogram(named(
          "command_duration_seconds", "From request to answer of what goes through the log."))),
      wait_us(&registry.histogram(
          named("wait_duration_seconds", "From request to answer of acquires that waited."))),
      peer_messages_bad(&registry.counter(
          named("peer_messages_bad_total", "Service messages of peers that did not decode."))) {
  for (std::size_t k = 0; k < kIngressWays; ++k) {
    ingress[k] = &registry.counter({"gcoord_server_ingress_commands_total",
                                    "Commands of clients that were proposed, by who judged them, "
                                    "hashed their names and made their entries.",
                                    "way",
                                    std::string(ingress_way_name(static_cast<IngressWay>(k)))});
  }
}

}  // namespace gcoord::server
