// The proxies of a resident node: its channels to peers whose memory it does not map.
//
// Who drives them: the node's loop, in every pass, and no thread of their own. The peer network has
// one caller, the loop, which sends clients' and hosts' messages over it, too; a thread beside it
// would need a lock around every one of those, and in the way of a message there would be a wake of
// another thread on each side, which takes longer than a pass. The loop looks again and again while
// there is traffic, and sleeps when there is none (ResidentReplicas::arm).
//
// What a peer sends goes to its proxy, or is dropped and counted. The node owns the proxies, and
// replaces them while its turn rests; connect() does, so everything else here may be called while a
// kernel runs. One thread.
#pragma once

#include "common/host/metrics.h"
#include "common/ids.h"
#include "common/status.h"
#include "netcore/peers/network.h"
#include "netcore/proxy/gpu_proxy.h"
#include "server/resident/node/node.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gcoord::server {

// Bands whose slots belong to the device; hosts speak to each other in the others.
constexpr bool is_of_device(netcore::Band band) {
  return band == netcore::Band::Control || band == netcore::Band::Consensus;
}

class ResidentProxies {
 public:
  // The references outlive it. `silence_ms_max`: GpuProxyOptions.
  ResidentProxies(ResidentNode& node,
                  netcore::PeerNetwork& network,
                  MetricsRegistry& metrics,
                  std::uint64_t silence_ms_max);

  // Gives the node a proxy to the peer in place of the channel that it has. Its turn rests.
  // `opened`: the peer has its end of this epoch already.
  Status connect(NodeId peer, std::uint32_t epoch, bool opened);

  // The peer has its end, too.
  void open(NodeId peer);

  // The network has lost the peer, or has another channel to it.
  void end(NodeId peer);

  // Moves what there is, both ways; how much, with what came since the last call: a device will
  // answer, so it is worth looking again.
  std::size_t pump(std::uint64_t now_ms);

  // Whether any of them moves slots.
  bool live() const;

  // What came from a peer in a band of the devices.
  void deliver(NodeId from,
               netcore::Band band,
               std::span<const netcore::Slot> slots,
               const netcore::PayloadView& payloads,
               std::uint64_t now_ms);

  // Brings the metrics up to date.
  void tell_metrics();

 private:
  struct Metrics {
    explicit Metrics(MetricsRegistry& registry);
    Counter& made;
    Counter& slots_out;
    Counter& slots_in;
    Counter& slots_let_go;
    Counter& starved;
    Counter& epoch;
    Counter& form;
    Counter& overrun;
    Counter& gap;
    Counter& stray;
  };

  void tell(NodeId peer);

  ResidentNode& node_;
  netcore::PeerNetwork& network_;
  Metrics metrics_;
  std::uint64_t silence_ms_max_;
  std::size_t arrived_ = 0;                         // Slots of frames, since the last pump().
  std::map<NodeId, netcore::GpuProxyCounts> told_;  // Of the peers that ever had one.
};

}  // namespace gcoord::server
