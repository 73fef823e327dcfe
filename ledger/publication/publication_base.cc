#include "ledger/publication/publication_base.h"

#include "common/assert.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

MetricName plain(std::string_view name, std::string_view help) {
  return {.name = "gcoord_server_publication_" + std::string(name), .help = std::string(help)};
}

}  // namespace

PublicationCounters::PublicationCounters(MetricsRegistry& registry)
    : dropped(registry.counter(
          plain("messages_dropped_total", "Invalid messages of peers about the cluster log"))),
      rounds(registry.counter(plain("rounds_total", "Rounds of the cluster log proposed here"))),
      rounds_split(registry.counter(
          plain("rounds_split_total", "Rounds started again without heads that no majority had"))),
      heads_compared(registry.counter(
          plain("heads_compared_total", "Ordered heads compared with this node's own trees"))),
      heads_unknown(registry.counter(
          plain("heads_unknown_total", "Ordered heads that this node's history does not reach"))),
      heads_different(registry.counter(
          plain("heads_different_total", "Ordered heads that this node's history contradicts"))),
      heads_let_go(registry.counter(
          plain("heads_let_go_total", "Ordered heads dropped before this node compared them"))),
      leaves_fetched(registry.counter(
          plain("leaves_fetched_total", "Leaves of the cluster log taken from peers"))),
      leaves_refused(registry.counter(
          plain("leaves_refused_total", "Leaves of peers that do not lead to the ordered log"))),
      signatures(registry.counter(plain("signatures_total", "Cluster logs that this node signed"))),
      signatures_refused(registry.counter(
          plain("signatures_refused_total", "Signatures of peers that are not genuine"))),
      size(registry.gauge(plain("size", "Leaves of the cluster log on this node"))),
      published(registry.gauge(
          plain("published_size", "Leaves of the cluster log that a majority has signed"))),
      signing(registry.gauge(plain("signing", "1 while this node signs, 0 while it refuses"))),
      waiting(registry.gauge(
          plain("waiting_shards", "Shards with entries that no head in the cluster log has"))),
      first(registry.gauge(
          plain("first", "Index of the first leaf of the cluster log that this node keeps"))),
      proposals_lost(registry.counter(
          plain("proposals_lost_total", "Times that the log of shard 0 took no entry of a round"))),
      proposals_repeated(registry.counter(
          plain("proposals_repeated_total", "Entries proposed again because no answer came"))) {
  signing.set(1);
}

PublicationBase::PublicationBase(PublicationOptions given,
                                 PublicationPort& given_port,
                                 MetricsRegistry& metrics)
    : options(std::move(given)),
      port(given_port),
      counters(metrics),
      members{options.nodes, options.nodes},
      heads(options.shard_count),
      times(metrics) {
  GCOORD_ASSERT(std::ranges::is_sorted(options.nodes));
  GCOORD_ASSERT(std::ranges::binary_search(options.nodes, options.self));
  GCOORD_ASSERT(options.round_heads_max > 0 && options.round_heads_max <= kHeadsPerRoundMax);
}

bool PublicationBase::has_node(NodeId node) const {
  return std::ranges::binary_search(members.nodes, node);
}

void PublicationBase::send(NodeId to, const PublicationMessage& message) {
  port.send(to, encode(message));
}

void PublicationBase::send_all(const PublicationMessage& message) {
  for (const NodeId node : members.nodes) {
    if (node != options.self) {
      send(node, message);
    }
  }
}

void PublicationBase::fail(const Status& why) {
  if (!failed) {
    failed = true;
    counters.signing.set(0);
    port.on_failure(why);
  }
}

}  // namespace gcoord::server
