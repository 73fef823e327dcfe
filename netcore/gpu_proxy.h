// Joins a device channel to the host transports: kernels talk to rings in pinned host memory, and a
// host thread moves slots between those rings and a PeerNetwork (TCP, UCX or any other).
//
// It is GPUnet's design with what that lacked: the device pushes out and never waits for the CPU,
// the host thread is an ordinary end of the same lanes (the same headers, with credit, epochs and
// bounded work), and no CUDA call is made per message, nor at any time after creation. So a GPU
// node and a CPU node form one cluster, and a GPU node reaches other hosts.
//
// Order: a lane's slots enter the network in their order; what arrives goes to the lane that
// `lane_of` names, because only the caller knows what must stay together. Credit: slots leave a
// lane only while the network has credit, so a slow peer fills the lane and the kernel sees it.
// What arrives while a lane is full waits here, at most `staged_slots_max` per band; beyond that it
// is dropped and counted, as a network may (DESIGN.md section 3, rule 5).
//
// The owner makes a new proxy when the network reports a new epoch of the peer (on_peer_up): what
// was under way belongs to the old one. One host thread calls everything; kernels run beside it.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/gpu_channel.h"
#include "netcore/peer_network.h"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::netcore {

struct GpuProxyOptions {
  NodeId peer;
  LaneLayoutOptions layout;
  std::uint32_t epoch = 0;
  // The lane (below the band's lane_count) on which an arriving slot goes to the device. Empty:
  // always lane 0.
  std::function<std::uint32_t(Band, const Slot&)> lane_of;
  std::size_t staged_slots_max = 32'768;  // Per band: a vote request per shard of a full ring.
};

struct GpuProxyCounts {
  std::uint64_t slots_out = 0;       // From the device to the network.
  std::uint64_t slots_in = 0;        // From the network to the device.
  std::uint64_t dropped_full = 0;    // Arrived when the staging was full.
  std::uint64_t dropped_extent = 0;  // Several payloads for a slot, or one above the lane's limit.
};

class GpuProxy {
 public:
  // The registry's device may be the host itself, for tests.
  static Result<std::unique_ptr<GpuProxy>> create(MemoryRegistry& registry,
                                                  const GpuProxyOptions& options);

  // What kernels work with.
  GpuChannelDevice device() const { return device_end_->device(); }

  // The device's own end, to abort or close it.
  GpuChannel& device_end() { return *device_end_; }

  // Moves what the device has sent to the network, most urgent band first, and the newest liveness
  // word; then what is staged to the device. Returns how many slots moved; 0: nothing to do.
  std::size_t pump(PeerNetwork& network);

  // A frame of this peer, from Sink::on_frame.
  void deliver(Band band, std::span<const Slot> slots, const PayloadView& payloads);
  // The peer's liveness word, from Sink::on_heartbeat.
  void deliver(const Heartbeat& heartbeat);

  const GpuProxyCounts& counts() const { return counts_; }

  // Why the device's end or this one gave up; see GpuChannel::fault.
  DropReason fault() const;

 private:
  struct Staged {
    Slot slot;
    std::uint32_t payload_bytes = 0;
    std::vector<Words128> payload;
  };

  // Slots on their way to the network, with the payload that each may have.
  struct Batch {
    std::vector<Slot> slots;
    std::vector<PayloadExtent> extents;
    std::vector<std::byte> bytes;  // Extents point here once the batch is complete.
    std::vector<std::uint32_t> extent_bytes;
  };

  explicit GpuProxy(const GpuProxyOptions& options) : options_(options) {}

  void open_lanes();
  std::size_t pump_band(PeerNetwork& network, Band band);
  void collect(Band band, std::uint32_t room);
  bool send(PeerNetwork& network, Band band);
  std::size_t drain_staged(Band band);
  bool push(Band band, const Staged& staged);

  GpuProxyOptions options_;
  std::unique_ptr<GpuChannel> device_end_;
  std::unique_ptr<GpuChannel> host_end_;
  std::vector<LaneSender> senders_;      // By lane number; they live as long as the epoch.
  std::vector<LaneReceiver> receivers_;  // By lane number.
  std::array<Batch, kBandCount> batches_;
  std::array<std::deque<Staged>, kBandCount> staged_;
  std::array<std::uint32_t, kBandCount> next_lane_{};  // Where collecting goes on.
  std::uint64_t heartbeats_pushed_ = 0;
  std::uint32_t heartbeat_seen_ = 0;
  GpuProxyCounts counts_;
};

}  // namespace gcoord::netcore
