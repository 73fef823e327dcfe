// The memory, channels and client rings of one node whose turn stays on its device, whichever that
// is: a GPU, or the host as its twin.
//
// Life: make() carves everything and opens the rings to this host; connect() gives it the channel
// to each peer (in one process: join_resident; between processes of a host: resident_join.h; else a
// proxy to the peer network); view() is then what kernels work with. Requests and what the node
// tells its host travel in lanes of pinned memory, one per stripe, whose host ends are here. Who
// leads its rows stands in pinned memory, too, which the host reads when it likes (view().leaders).
//
// Here nodes have their ids; view() has their numbers (resident_names.h).
//
// A peer that is not there (yet, or any more) can be stood in for: a channel whose other end is
// memory of this node that nobody reads. A channel is replaced by one of a greater epoch while
// nothing runs on the node: connect(), then go_on(), and the rows go on where they were. Contract:
// one thread. Destroy it only when nothing runs on it any more (resident_turn.h).
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/gpu_channel/gpu_channel.h"
#include "netcore/memory/epoch.h"
#include "netcore/memory/registry.h"
#include "server/device_turn/clock.h"
#include "server/device_turn/view.h"
#include "server/resident/node/host_lane.h"
#include "server/resident/node/lock_turn_memory.h"
#include "server/resident/node/lock_turn_service.h"
#include "server/resident/node/names.h"
#include "server/resident/node/pools.h"
#include "server/resident/node/resident_view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::netcore {
class GpuProxy;
}  // namespace gcoord::netcore

namespace gcoord::server {

// The place of a node among the peers of another, by their numbers.
constexpr std::uint32_t peer_place(NodeId self, NodeId peer) {
  return peer.value < self.value ? peer.value - 1 : peer.value - 2;
}

struct ResidentNodeOptions {
  NodeId self{1};
  ResidentNames names;  // All nodes; to a device each is a number.
  TurnShape shape;
  LockTurnSizes sizes;
  TurnTiming timing;
  std::uint32_t ring_slots = 1024;   // Of a lane between nodes.
  std::uint32_t client_slots = 512;  // Of a lane to or from the host.
  std::uint64_t index_seed = 0;
  PageLimits pages;
};

class ResidentNode {
 public:
  // InvalidArgument for a shape whose lanes are too short; ResourceExhausted without memory.
  static Result<std::unique_ptr<ResidentNode>> make(const ResidentNodeOptions& options,
                                                    std::unique_ptr<netcore::MemorySource> memory);
  ~ResidentNode();
  ResidentNode(const ResidentNode&) = delete;
  ResidentNode& operator=(const ResidentNode&) = delete;

  const ResidentNodeOptions& options() const { return options_; }

  // Before the turn is started.
  void set_timing(const TurnTiming& timing) { options_.timing = timing; }

  // From the turn's next start on, held: no row votes or campaigns, whatever the timing says; not
  // held: as the timing says, and each row is stepped once. Failures: the memory's.
  Status hold_votes(bool held);

  bool votes_held() const { return vote_after_.has_value(); }

  netcore::MemoryRegistry& registry() { return registry_; }

  // The lanes that a channel to a peer has; the same on both sides.
  netcore::LaneLayoutOptions channel_layout() const;

  // The channel to a peer, attached. The one before, if any, is released: nothing runs.
  void connect(NodeId peer, std::unique_ptr<netcore::GpuChannel> channel);
  // The same by way of the hosts. The caller pumps it while the node is there.
  void connect(NodeId peer, std::unique_ptr<netcore::GpuProxy> proxy);
  // nullptr: the peer has another channel, or none.
  netcore::GpuProxy* proxy(NodeId peer) const;
  // A channel to a peer that is not there.
  Status stand_in(NodeId peer);
  // Whether there is any channel to a peer, were it one that stands in.
  bool has_channel(NodeId peer) const;
  // To all peers.
  bool connected() const;

  // The epoch of the channel to a peer; 0: there is none, one that stands in, one that was given
  // up, one of another life of the peer, or a proxy that has ended.
  std::uint32_t epoch(NodeId peer) const;

  // The peer began another life, in which it knows of no channel: the one that is here counts as
  // none until it is replaced, and epochs begin anew.
  void forget_epochs(NodeId peer);

  // Later than every epoch that was used with the peer in its present life.
  std::uint32_t epoch_next(NodeId peer) const {
    return netcore::epoch_after(epoch_last_[place_of(peer)]);
  }

  // The turn is started with the channels as they are.
  void note_started() { std::fill(std::begin(fresh_), std::end(fresh_), false); }

  // Makes a node whose turn was stopped ready to be started again, with the channels as they are
  // now, and with larger pools where few places were left (NodePools::make_room).
  // FailedPrecondition: a stripe gave up, and the node must not go on; kDeviceExhausted: no memory.
  Status go_on();

  // To look whether they are too large, and to shrink them while the turn is stopped; go_on()
  // follows.
  NodePools& pools() { return pools_; }

  const NodePools& pools() const { return pools_; }

  // Fills the node's memory before its turn is prepared: `fill` is given zeroed memory of the host,
  // divided as the node's is, and puts rows, log pages and lock tables there.
  Status restore(const std::function<void(const ResidentView&)>& fill);

  // Whether the rows came from there.
  bool restored() const { return restored_; }

  // For kernels, once connected().
  const ResidentView& view() const { return view_; }

  // --- The host's ends. Lane numbers are stripes.

  // As of HostLane, of one lane.
  std::uint32_t room(std::uint32_t lane, std::uint32_t wanted) { return lanes_[lane].room(wanted); }

  bool push(std::uint32_t lane, const TurnRequest* requests, std::uint32_t count) {
    return lanes_[lane].push(requests, count);
  }

  const HostEventSlot* pull(std::uint32_t lane) { return lanes_[lane].pull(); }

  HostLane& lane(std::uint32_t lane) { return lanes_[lane]; }

  // --- Words to the running node
  Status abort();
  // The host is able to work: TurnControl::host rises.
  Status tell_alive();
  // TurnControl::abort as it is, of a node that has stopped.
  Result<std::uint64_t> abort_word();

  // Why a channel was given up by this node's kernels, or its proxy; None while it lives.
  netcore::DropReason fault(NodeId peer) const;

  // What this node's kernels counted at their ends of all channels to peers that were there, with
  // those that were replaced since, by whatever way. While they run, slots and stalls are late.
  netcore::GpuChannelCounts channel_counts() const;

  // Of a peer, in what is kept by peer.
  std::uint32_t place_of(NodeId peer) const {
    return peer_place(options_.names.number(options_.self), options_.names.number(peer));
  }

  std::size_t device_bytes() const;
  // Of all stripes; exact when nothing runs.
  Result<StripeCounts> counts();

 private:
  ResidentNode(const ResidentNodeOptions& options, std::unique_ptr<netcore::MemorySource> memory);

  // Peers of the node: places of the arrays below that mean something.
  std::uint32_t peer_count() const { return options_.shape.voters - 1; }

  Status carve();
  Status carve_leaders();
  Status open_clients();
  void enter(NodeId peer, const netcore::GpuChannel& channel);
  // What this node's end of a channel to a peer that is there has counted.
  netcore::GpuChannelCounts counts_of(std::uint32_t place) const;

  ResidentNodeOptions options_;
  netcore::MemoryRegistry registry_;
  ResidentView view_;
  NodePools pools_{registry_, view_};
  netcore::MemoryRange memory_;
  std::vector<LockStripe> stripes_;  // As they lie in the node, but for what changes.
  bool restored_ = false;
  std::uint64_t alive_ = 0;         // TurnControl::host.
  std::uint64_t wakes_ = 0;         // TurnControl::wakes.
  std::optional<Tick> vote_after_;  // Of the timing, while votes are held.
  std::unique_ptr<netcore::GpuChannel> channel_[kTurnPeersMax];
  std::unique_ptr<netcore::GpuProxy> proxy_[kTurnPeersMax];  // In place of a channel.
  std::unique_ptr<netcore::GpuChannel>
      absent_[kTurnPeersMax];           // Other ends of those that stand in.
  netcore::GpuChannelCounts replaced_;  // Of channels that are no more.
  std::uint32_t epoch_last_[kTurnPeersMax]{};
  bool outlived_[kTurnPeersMax]{};  // The channel is of another life of the peer.
  bool fresh_[kTurnPeersMax]{};     // Connected since the node was made, or since go_on().
  std::unique_ptr<netcore::GpuChannel> client_device_;
  std::unique_ptr<netcore::GpuChannel> client_host_;
  std::vector<HostLane> lanes_;
};

// Joins two nodes of one process, on one device or on the host; again: nothing runs on either.
Status join_resident(ResidentNode& one, ResidentNode& other);

}  // namespace gcoord::server
