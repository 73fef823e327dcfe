// The memory, channels and client rings of one node whose turn stays on its device, whichever that
// is: a GPU, or the host as its twin.
//
// Life: make() carves everything and opens the rings to this host; connect() gives it the channel
// to each peer (in one process: join_resident; between processes: resident_join.h); view() is then
// what kernels work with. Requests and what the node tells its host travel in lanes of pinned
// memory, one per stripe, whose host ends are here. Contract: one thread. Destroy it only when
// nothing runs on it any more (resident_turn.h).
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/gpu_channel.h"
#include "netcore/memory_registry.h"
#include "server/device_turn_clock.h"
#include "server/device_turn_view.h"
#include "server/lock_turn_memory.h"
#include "server/lock_turn_service.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gcoord::server {

using ResidentView = TurnNode<LockTurnService>;

struct ResidentNodeOptions {
  NodeId self{1};  // 1, 2 or 3: rows name their voters so.
  TurnShape shape;
  LockTurnSizes sizes;
  TurnTiming timing;
  std::uint32_t ring_slots = 1024;   // Of a lane between nodes.
  std::uint32_t client_slots = 512;  // Of a lane to or from the host.
  std::uint64_t index_seed = 0;
};

// What a lane of the node brought its host: a reply, and for a decided entry the entry.
struct ToldSlot {
  TurnReply reply;
  locks::LockEntry entry;
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

  netcore::MemoryRegistry& registry() { return registry_; }

  // The lanes that a channel to a peer has; the same on both sides.
  netcore::LaneLayoutOptions channel_layout() const;

  // The channel to a peer, attached.
  void connect(NodeId peer, std::unique_ptr<netcore::GpuChannel> channel);
  bool connected() const;

  // For kernels, once connected().
  const ResidentView& view() const { return view_; }

  // --- The host's ends. Lane numbers are stripes.

  // Pushes requests side by side, all or none. False: no room.
  bool push(std::uint32_t lane, const TurnRequest* requests, std::uint32_t count);
  // The next thing that the lane brought; nothing if there is none. What a told entry consists of
  // may come apart: then it is kept until it is whole.
  std::optional<ToldSlot> pull(std::uint32_t lane);

  // --- Words to the running node
  Status abort();
  // TurnControl::abort as it is, of a node that has stopped.
  Result<std::uint64_t> abort_word();

  // Why a channel was given up by this node's kernels; None while it lives.
  netcore::DropReason fault(NodeId peer) const;

  std::size_t device_bytes() const;
  // Of all stripes; exact when nothing runs.
  Result<StripeCounts> counts();

 private:
  struct Lane {
    netcore::LaneSender to;
    netcore::LaneReceiver from;
    bool half = false;  // `reply` came, its entry has not.
    TurnReply reply;
  };

  ResidentNode(const ResidentNodeOptions& options, std::unique_ptr<netcore::MemorySource> memory)
      : options_(options), registry_(std::move(memory)) {}

  Status carve();
  Status open_clients();

  ResidentNodeOptions options_;
  netcore::MemoryRegistry registry_;
  ResidentView view_;
  std::unique_ptr<netcore::GpuChannel> channel_[kTurnPeers];
  std::unique_ptr<netcore::GpuChannel> client_device_;
  std::unique_ptr<netcore::GpuChannel> client_host_;
  std::vector<Lane> lanes_;
};

// The place of a node among the peers of another.
constexpr std::uint32_t peer_place(NodeId self, NodeId peer) {
  return peer.value < self.value ? peer.value - 1 : peer.value - 2;
}

// Joins two nodes of one process, on one device or on the host.
Status join_resident(ResidentNode& one, ResidentNode& other);

}  // namespace gcoord::server
