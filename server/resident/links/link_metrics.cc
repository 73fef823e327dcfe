#include "server/resident/links/link_metrics.h"

#include "netcore/channel/drop_reason.h"

#include <string>

namespace gcoord::server {
namespace {

using netcore::DropReason;
using netcore::LaneReport;

constexpr std::uint64_t kReadMs = 100;

Counter& dropped(MetricsRegistry& registry, DropReason reason) {
  return registry.counter({"gcoord_server_resident_channel_dropped_total",
                           "Dropped invalid writes of peers into the turn's channels, by reason; "
                           "each but stale_epoch also reset the channel.",
                           "reason",
                           std::string{netcore::drop_reason_name(reason)}});
}

// What both ends of the node's channels count of one thing.
std::uint64_t both(const netcore::GpuChannelCounts& counts, std::uint64_t LaneReport::*field) {
  return counts.sent.*field + counts.received.*field;
}

}  // namespace

ResidentChannelMetrics::ResidentChannelMetrics(MetricsRegistry& registry)
    : stale_epoch_(dropped(registry, DropReason::StaleEpoch)),
      credit_overrun_(dropped(registry, DropReason::CreditOverrun)),
      bad_length_(dropped(registry, DropReason::BadLength)),
      bad_field_(dropped(registry, DropReason::BadField)) {}

bool ResidentChannelMetrics::due(std::uint64_t now_ms) {
  if (now_ms < next_ms_) {
    return false;
  }
  next_ms_ = now_ms + kReadMs;
  return true;
}

void ResidentChannelMetrics::tell(const netcore::GpuChannelCounts& now) {
  const auto grown = [this, &now](std::uint64_t LaneReport::*field) {
    return both(now, field) - both(told_, field);
  };
  stale_epoch_.add(grown(&LaneReport::stale_epoch));
  credit_overrun_.add(grown(&LaneReport::credit_overrun));
  bad_length_.add(grown(&LaneReport::bad_length));
  bad_field_.add(grown(&LaneReport::bad_field));
  told_ = now;
}

}  // namespace gcoord::server
