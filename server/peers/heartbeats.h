// The heartbeats of a node to its peers: one word to each, in equal pauses.
//
// The word says who sends it, when by its own clock, and how far its log of record is durable
// (netcore/channel/liveness.h); it echoes the newest word of the peer where leases are counted by
// that. The unit of `now` and of the pause is the sender's: ticks for the turn on the host,
// milliseconds for one on a device. One thread.
#pragma once

#include "common/ids.h"
#include "netcore/peers/network.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::server {

class Heartbeats {
 public:
  // What the word to one peer echoes: when its newest one was sent, and by which incarnation.
  struct Echo {
    Tick peer_tick;
    Incarnation peer_incarnation;
  };

  Heartbeats(Incarnation self, std::span<const netcore::PeerAddress> peers, std::uint64_t pause)
      : self_(self), pause_(pause) {
    for (const netcore::PeerAddress& peer : peers) {
      peers_.push_back(peer.id);
    }
  }

  // The peer is the k-th from here on, and hears at once.
  void insert(std::size_t k, NodeId peer) {
    peers_.insert(peers_.begin() + static_cast<std::ptrdiff_t>(k), peer);
    hurry();
  }

  void erase(std::size_t k) { peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(k)); }

  bool is_due(Tick now) const { return now >= next_; }

  // When the next one is due.
  Tick next() const { return next_; }

  // Makes one due at once: a channel came up.
  void hurry() { next_ = Tick{0}; }

  // Sends to every peer, if that is due. echo_of(k) is the Echo for the k-th peer.
  template <typename EchoOf>
  void send(netcore::PeerNetwork& network, Tick now, std::uint64_t durable, EchoOf&& echo_of) {
    if (!is_due(now)) {
      return;
    }
    next_ = now + pause_;
    for (std::size_t k = 0; k < peers_.size(); ++k) {
      send_one(network, peers_[k], {now, durable, echo_of(k)});
    }
  }

  // The same, and nothing is echoed.
  void send(netcore::PeerNetwork& network, Tick now, std::uint64_t durable) {
    send(network, now, durable, [](std::size_t) { return Echo{}; });
  }

 private:
  struct Word {
    Tick now;
    std::uint64_t durable = 0;
    Echo echo;
  };

  void send_one(netcore::PeerNetwork& network, NodeId to, const Word& word) const;

  Incarnation self_;
  std::vector<NodeId> peers_;
  std::uint64_t pause_;
  Tick next_;
};

}  // namespace gcoord::server
