#include "netcore/peers/metrics.h"

#include <string>

namespace gcoord::netcore {
namespace {

void add(Counter* counter, std::uint64_t count) {
  if (counter != nullptr) {
    counter->add(count);
  }
}

void set(Gauge* gauge, std::int64_t value) {
  if (gauge != nullptr) {
    gauge->set(value);
  }
}

}  // namespace

PeerMetrics::PeerMetrics(MetricsRegistry* registry, NodeId peer) {
  if (registry == nullptr) {
    return;
  }
  const auto name = [&](const char* metric, const char* help) {
    return MetricName{
        std::string{"gcoord_netcore_"} + metric, help, "peer", std::to_string(peer.value)};
  };
  frames_in_ = &registry->counter(name("frames_in_total", "Frames received and applied."));
  frames_out_ = &registry->counter(name("frames_out_total", "Frames given to the transport."));
  bytes_in_ = &registry->counter(name("bytes_in_total", "Bytes of frames received."));
  bytes_out_ = &registry->counter(name("bytes_out_total", "Bytes of frames sent."));
  stalls_ = &registry->counter(name("credit_stalls_total", "Sends refused for lack of credit."));
  reconnects_ = &registry->counter(name("reconnects_total", "Channels after the first one."));
  unsent_ = &registry->gauge(name("unsent_bytes", "Messages accepted and not yet sent."));
  up_ = &registry->gauge(name("peer_up", "1 while a channel lives."));
  proven_ = &registry->gauge(
      name("peer_proven", "1 while a channel lives whose other end has proven itself."));
  encrypted_ = &registry->gauge(name("peer_encrypted", "1 while a channel lives that has TLS."));
  plaintext_ = &registry->counter(
      name("plaintext_channels_total", "Channels that came up without encryption."));
}

void PeerMetrics::on_frame_in(std::size_t bytes) {
  ++traffic_.frames_in;
  traffic_.bytes_in += bytes;
  add(frames_in_, 1);
  add(bytes_in_, bytes);
}

void PeerMetrics::on_frame_out(std::size_t bytes) {
  ++traffic_.frames_out;
  traffic_.bytes_out += bytes;
  add(frames_out_, 1);
  add(bytes_out_, bytes);
}

void PeerMetrics::on_stall() {
  ++traffic_.credit_stalls;
  add(stalls_, 1);
}

void PeerMetrics::on_up(bool is_proven, bool is_encrypted) {
  if (channels_++ != 0) {
    ++traffic_.reconnects;
    add(reconnects_, 1);
  }
  set(up_, 1);
  set(proven_, is_proven ? 1 : 0);
  set(encrypted_, is_encrypted ? 1 : 0);
  add(plaintext_, is_encrypted ? 0 : 1);
}

void PeerMetrics::on_down() {
  on_unsent(0);
  set(up_, 0);
  set(proven_, 0);
  set(encrypted_, 0);
}

void PeerMetrics::on_unsent(std::size_t bytes) {
  if (traffic_.unsent_bytes != bytes) {
    traffic_.unsent_bytes = bytes;
    set(unsent_, static_cast<std::int64_t>(bytes));
  }
}

void PeerMetrics::on_drop(DropReason reason) {
  ++traffic_.dropped[static_cast<std::size_t>(reason)];
}

DropMetrics::DropMetrics(MetricsRegistry* registry) {
  for (std::size_t i = 1; registry != nullptr && i < kDropReasonCount; ++i) {
    by_reason_[i] = &registry->counter({"gcoord_netcore_dropped_total",
                                        "Frames and links from peers that were not accepted.",
                                        "reason",
                                        std::string{drop_reason_name(static_cast<DropReason>(i))}});
  }
}

void DropMetrics::on_drop(DropReason reason) {
  add(by_reason_[static_cast<std::size_t>(reason)], 1);
}

}  // namespace gcoord::netcore
