// The configured peers of a node's network, by node and by the link that belongs to them. One
// thread.
#pragma once

#include "common/ids.h"
#include "netcore/channel/channel.h"
#include "netcore/memory/call_pacing.h"
#include "netcore/peers/metrics.h"
#include "netcore/peers/network.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace gcoord::netcore {

// Everything about one configured peer. `link` is the live link or the call under way.
struct PeerRecord {
  PeerRecord(const PeerNetworkOptions& options, const PeerAddress& peer_address)
      : address(peer_address),
        pacing(options.retry_min_ms, options.retry_max_ms),
        metrics(options.metrics, peer_address.id) {}

  bool is_calling() const { return state == LinkState::Dialing || state == LinkState::Greeting; }

  PeerAddress address;
  CallPacing pacing;
  PeerMetrics metrics;
  LinkState state = LinkState::Idle;
  LinkId link;
  std::optional<Channel> channel;
  // Newest life met, and epoch used, with this peer.
  Incarnation incarnation;
  DirectoryId directory;
  std::uint64_t life = 0;
  std::uint32_t epoch = 0;
  std::uint64_t call_deadline_ms = 0;
  std::uint64_t last_heard_ms = 0;
  std::string last_error;
};

class PeerTable {
 public:
  explicit PeerTable(const PeerNetworkOptions& options) {
    peers_.reserve(options.peers.size());
    for (const PeerAddress& address : options.peers) {
      index_of_peer_[address.id] = peers_.size();
      peers_.emplace_back(options, address);
    }
  }

  auto begin() { return peers_.begin(); }

  auto end() { return peers_.end(); }

  auto begin() const { return peers_.begin(); }

  auto end() const { return peers_.end(); }

  // nullptr: no peer has this id.
  PeerRecord* find(NodeId id) {
    const auto found = index_of_peer_.find(id);
    return found == index_of_peer_.end() ? nullptr : &peers_[found->second];
  }

  const PeerRecord* find(NodeId id) const {
    const auto found = index_of_peer_.find(id);
    return found == index_of_peer_.end() ? nullptr : &peers_[found->second];
  }

  // nullptr: the link is none of a peer.
  PeerRecord* owner_of(LinkId link) {
    const auto found = peer_of_link_.find(link);
    return found == peer_of_link_.end() ? nullptr : &peers_[found->second];
  }

  // The peer's link from here on.
  void own(PeerRecord& peer, LinkId link) {
    peer.link = link;
    peer_of_link_[link] = static_cast<std::size_t>(&peer - peers_.data());
  }

  // The peer has no link from here on. Returns the one that it had.
  LinkId disown(PeerRecord& peer) {
    const LinkId link = peer.link;
    peer_of_link_.erase(link);
    peer.link = LinkId{};
    return link;
  }

 private:
  std::vector<PeerRecord> peers_;
  std::unordered_map<NodeId, std::size_t> index_of_peer_;
  std::unordered_map<LinkId, std::size_t> peer_of_link_;
};

}  // namespace gcoord::netcore
