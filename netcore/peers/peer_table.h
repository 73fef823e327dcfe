// The peers of a node's network, by node and by the link that belongs to them.
//
// Records keep their places while others come and go. One that is to go while the network is at
// work on it is hidden at once, and erased when nothing of it is in use any more. One thread.
#pragma once

#include "common/ids.h"
#include "netcore/channel/channel.h"
#include "netcore/memory/call_pacing.h"
#include "netcore/peers/metrics.h"
#include "netcore/peers/network.h"
#include "netcore/proof/handshake.h"

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

namespace gcoord::netcore {

// Everything about one peer. `link` is the live link or the call under way.
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
  bool leaves = false;  // Hidden: to be erased.
  bool ends = false;    // The live channel, with the next progress().
  std::optional<Channel> channel;
  // Of the call under way, if it proves; whether the next one does not, because this one was not
  // answered; whether the live channel's other end has proven itself.
  std::optional<CallerProof> proof;
  bool calls_plain = false;
  bool is_proven = false;
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
  explicit PeerTable(const PeerNetworkOptions& options)
      : removed_(options.removed.begin(), options.removed.end()) {
    for (const PeerAddress& address : options.peers) {
      add(options, address);
    }
  }

  // No peer has its id.
  PeerRecord& add(const PeerNetworkOptions& options, const PeerAddress& address) {
    PeerRecord& peer = peers_.emplace_back(options, address);
    by_id_[address.id] = &peer;
    return peer;
  }

  // The node has left for good.
  void note_removed(NodeId id) { removed_.insert(id); }

  bool is_removed(NodeId id) const { return removed_.contains(id); }

  // Nobody finds it by its id any more.
  void hide(PeerRecord& peer) {
    peer.leaves = true;
    by_id_.erase(peer.address.id);
  }

  // Forgets those that are hidden; they have no links.
  void erase_hidden() {
    peers_.remove_if([](const PeerRecord& peer) { return peer.leaves; });
  }

  auto begin() { return peers_.begin(); }

  auto end() { return peers_.end(); }

  auto begin() const { return peers_.begin(); }

  auto end() const { return peers_.end(); }

  // nullptr: no peer has this id.
  PeerRecord* find(NodeId id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
  }

  const PeerRecord* find(NodeId id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : found->second;
  }

  // nullptr: the link is none of a peer.
  PeerRecord* owner_of(LinkId link) {
    const auto found = by_link_.find(link);
    return found == by_link_.end() ? nullptr : found->second;
  }

  // The peer's link from here on.
  void own(PeerRecord& peer, LinkId link) {
    peer.link = link;
    by_link_[link] = &peer;
  }

  // The peer has no link from here on. Returns the one that it had.
  LinkId disown(PeerRecord& peer) {
    const LinkId link = peer.link;
    by_link_.erase(link);
    peer.link = LinkId{};
    return link;
  }

 private:
  std::list<PeerRecord> peers_;
  std::unordered_map<NodeId, PeerRecord*> by_id_;
  std::unordered_map<LinkId, PeerRecord*> by_link_;
  std::set<NodeId> removed_;
};

}  // namespace gcoord::netcore
