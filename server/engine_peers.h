// The liveness records of the other nodes, and the heartbeats that keep them (DESIGN.md section
// 3a).
//
// One thread. Ticks are the engine's; heartbeats are dated by the tick read after they were polled.
#pragma once

#include "common/ids.h"
#include "consensus/inbox.h"
#include "consensus/liveness.h"
#include "netcore/peer_network.h"

#include <span>
#include <vector>

namespace gcoord::server {

class EnginePeers {
 public:
  EnginePeers(std::span<const netcore::PeerAddress> peers,
              Incarnation self,
              const consensus::Timing& timing,
              consensus::Durability durability);

  // A heartbeat, polled before `now` was read. True: the rows are to be woken.
  bool on_heartbeat(NodeId from, const consensus::Heartbeat& heartbeat, Tick now);

  // Whether the data directory of any peer is not its first one.
  bool any_replaced() const;

  // Takes notice of the time. True: the rows are to be woken.
  bool refresh(Tick now);

  // Sends a heartbeat to every peer if one is due, with how far the log of record is durable.
  void send_heartbeats(netcore::PeerNetwork& network, Tick now, std::uint64_t durable);

  // Makes one due at once: a channel came up.
  void hurry() { next_heartbeat_ = Tick{0}; }

  // Sets every record's credit: what the channel takes less what is gathered already.
  template <typename Gathered>
  void set_credit(const netcore::PeerNetwork& network, Gathered&& gathered) {
    for (consensus::PeerLiveness& peer : records_) {
      const std::uint32_t credit = network.credit(peer.node, netcore::Band::Consensus);
      const std::uint32_t taken = gathered(peer.node);
      peer.credit = credit > taken ? credit - taken : 0;
    }
  }

  // Whether a channel that took nothing at the last set_credit takes something now.
  bool credit_returned(const netcore::PeerNetwork& network) const;

  std::span<const consensus::PeerLiveness> records() const { return records_; }

  // When send_heartbeats or refresh has something to do.
  Tick next_deadline() const;

 private:
  Incarnation self_;
  consensus::Timing timing_;
  Tick next_heartbeat_;
  std::vector<consensus::PeerLiveness> records_;
};

}  // namespace gcoord::server
