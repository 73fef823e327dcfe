#include "server/watch/watch_metrics.h"

namespace gcoord::server {
namespace {

MetricName plain(const char* name, const char* help) {
  return MetricName{name, help, "", ""};
}

}  // namespace

WatchMetrics::WatchMetrics(MetricsRegistry& metrics) {
  watches = &metrics.gauge(plain("gcoord_server_watches", "Watches of clients."));
  ring_bytes = &metrics.gauge(
      plain("gcoord_server_watch_ring_bytes", "Memory of the newest events, for watches."));
  events = &metrics.counter(
      plain("gcoord_server_watch_events_total", "Events that were recorded for watches."));
  messages = &metrics.counter(
      plain("gcoord_server_watch_messages_total", "Messages that were sent to watches."));
  bytes = &metrics.counter(
      plain("gcoord_server_watch_bytes_total", "Bytes of messages that were sent to watches."));
  lagging = &metrics.counter(
      plain("gcoord_server_watches_lagging_total", "Watches that were ended because they lagged."));
  unsendable = &metrics.counter(
      plain("gcoord_server_watches_unsendable_total",
            "Watches that were ended because the changes of one entry do not fit into a message."));
  replays = &metrics.counter(
      plain("gcoord_server_watch_replays_total", "Shards replayed from history for a watch."));
}

}  // namespace gcoord::server
