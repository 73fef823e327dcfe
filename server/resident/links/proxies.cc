#include "server/resident/links/proxies.h"

#include "consensus/step/message.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gcoord::server {
namespace {

// Of what this node's own rows say.
std::uint32_t slots_behind(const netcore::Slot& slot) {
  const auto message = std::bit_cast<consensus::Message>(slot);
  switch (message.kind) {
    case consensus::MessageKind::Append:
      return entry_slots<locks::LockEntry>(message.count);
    case consensus::MessageKind::Snapshot:
      return kSnapshotSlots;
    default:
      return 0;
  }
}

Counter& dropped(MetricsRegistry& registry, const char* reason) {
  return registry.counter({"gcoord_server_resident_proxy_dropped_total",
                           "Invalid messages of peers to a proxy, by reason.",
                           "reason",
                           reason});
}

}  // namespace

ResidentProxies::Metrics::Metrics(MetricsRegistry& registry)
    : made(registry.counter(
          {"gcoord_server_resident_proxies_total",
           "Proxies to peers that were created, each of which replaces the previous one.",
           "",
           ""})),
      slots_out(registry.counter({"gcoord_server_resident_proxy_slots_out_total",
                                  "Slots that the host moved from the device to peers.",
                                  "",
                                  ""})),
      slots_in(registry.counter({"gcoord_server_resident_proxy_slots_in_total",
                                 "Slots that the host moved from peers to the device.",
                                 "",
                                 ""})),
      slots_let_go(registry.counter({"gcoord_server_resident_proxy_slots_let_go_total",
                                     "Slots for peers whose devices had not sent anything yet.",
                                     "",
                                     ""})),
      starved(registry.counter({"gcoord_server_resident_proxies_starved_total",
                                "Proxies that ended because a peer granted no credit to a lane.",
                                "",
                                ""})),
      epoch(dropped(registry, "stale_epoch")),
      form(dropped(registry, "bad_field")),
      overrun(dropped(registry, "credit_overrun")),
      gap(dropped(registry, "gap")),
      stray(dropped(registry, "no_proxy")) {}

ResidentProxies::ResidentProxies(ResidentNode& node,
                                 netcore::PeerNetwork& network,
                                 MetricsRegistry& metrics,
                                 std::uint64_t silence_ms_max)
    : node_(node), network_(network), metrics_(metrics), silence_ms_max_(silence_ms_max) {}

Status ResidentProxies::connect(NodeId peer, std::uint32_t epoch, bool opened) {
  netcore::GpuProxyOptions options;
  options.peer = peer;
  options.layout = node_.channel_layout();
  options.epoch = epoch;
  options.silence_ms_max = silence_ms_max_;
  options.slots_behind = slots_behind;
  GCOORD_TRY(auto proxy, netcore::GpuProxy::create(node_.registry(), options));
  if (opened) {
    proxy->open();
  }
  tell(peer);
  told_[peer] = {};
  metrics_.made.add();
  node_.connect(peer, std::move(proxy));
  return {};
}

void ResidentProxies::open(NodeId peer) {
  if (netcore::GpuProxy* const proxy = node_.proxy(peer)) {
    proxy->open();
  }
}

void ResidentProxies::end(NodeId peer) {
  if (netcore::GpuProxy* const proxy = node_.proxy(peer)) {
    proxy->end();
  }
}

std::size_t ResidentProxies::pump(std::uint64_t now_ms) {
  std::size_t moved = 0;
  for (const auto& each : told_) {
    netcore::GpuProxy* const proxy = node_.proxy(each.first);
    moved += proxy != nullptr ? proxy->pump(network_, now_ms) : 0;
  }
  if (moved != 0) {
    network_.flush();
  }
  return moved + std::exchange(arrived_, 0);
}

bool ResidentProxies::live() const {
  return std::any_of(told_.begin(), told_.end(), [this](const auto& each) {
    const netcore::GpuProxy* const proxy = node_.proxy(each.first);
    return proxy != nullptr && proxy->is_open() && !proxy->ended();
  });
}

void ResidentProxies::deliver(NodeId from,
                              netcore::Band band,
                              std::span<const netcore::Slot> slots,
                              const netcore::PayloadView& payloads,
                              std::uint64_t now_ms) {
  netcore::GpuProxy* const proxy = node_.proxy(from);
  if (proxy == nullptr) {
    metrics_.stray.add(slots.size());
    return;
  }
  arrived_ += slots.size();
  proxy->deliver(band, slots, payloads, now_ms);
}

void ResidentProxies::tell_metrics() {
  for (const auto& each : told_) {
    tell(each.first);
  }
}

void ResidentProxies::tell(NodeId peer) {
  const netcore::GpuProxy* const proxy = node_.proxy(peer);
  if (proxy == nullptr) {
    return;
  }
  const netcore::GpuProxyCounts& now = proxy->counts();
  netcore::GpuProxyCounts& told = told_[peer];
  metrics_.slots_out.add(now.slots_out - told.slots_out);
  metrics_.slots_in.add(now.slots_in - told.slots_in);
  metrics_.slots_let_go.add(now.slots_let_go - told.slots_let_go);
  metrics_.starved.add(now.starved - told.starved);
  metrics_.epoch.add(now.dropped_epoch - told.dropped_epoch);
  metrics_.form.add(now.dropped_form - told.dropped_form);
  metrics_.overrun.add(now.dropped_overrun - told.dropped_overrun);
  metrics_.gap.add(now.dropped_gap - told.dropped_gap);
  told = now;
}

}  // namespace gcoord::server
