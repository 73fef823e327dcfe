// The counters of the peer network, in a registry and in PeerStatus at once.
//
// Labels are the peer's id or the drop reason, never both: a registry row has one label. Names:
// gcoord_netcore_{frames,bytes}_{in,out}_total{peer}, gcoord_netcore_credit_stalls_total{peer},
// gcoord_netcore_reconnects_total{peer}, gcoord_netcore_unsent_bytes{peer},
// gcoord_netcore_peer_up{peer}, gcoord_netcore_peer_proven{peer},
// gcoord_netcore_peer_encrypted{peer}, gcoord_netcore_plaintext_channels_total{peer},
// gcoord_netcore_dropped_total{reason}. Updated by the network's thread; read by any.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "netcore/channel/drop_reason.h"
#include "netcore/peers/status.h"

#include <array>
#include <cstdint>

namespace gcoord::netcore {

// Counters of one peer.
class PeerMetrics {
 public:
  // A null registry keeps the traffic only.
  PeerMetrics(MetricsRegistry* registry, NodeId peer);

  void on_frame_in(std::size_t bytes);
  void on_frame_out(std::size_t bytes);
  void on_stall();
  void on_up(bool is_proven, bool is_encrypted);
  void on_down();
  void on_unsent(std::size_t bytes);
  void on_drop(DropReason reason);

  const PeerTraffic& traffic() const { return traffic_; }

 private:
  PeerTraffic traffic_;
  std::uint64_t channels_ = 0;
  Counter* frames_in_ = nullptr;
  Counter* frames_out_ = nullptr;
  Counter* bytes_in_ = nullptr;
  Counter* bytes_out_ = nullptr;
  Counter* stalls_ = nullptr;
  Counter* reconnects_ = nullptr;
  Gauge* unsent_ = nullptr;
  Gauge* up_ = nullptr;
  Gauge* proven_ = nullptr;
  Gauge* encrypted_ = nullptr;
  Counter* plaintext_ = nullptr;
};

// Drops of all links by reason.
class DropMetrics {
 public:
  explicit DropMetrics(MetricsRegistry* registry);
  void on_drop(DropReason reason);

 private:
  std::array<Counter*, kDropReasonCount> by_reason_{};
};

}  // namespace gcoord::netcore
