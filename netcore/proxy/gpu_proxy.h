// Joins a device channel to the host transports: kernels talk to rings in pinned host memory, and a
// host thread moves slots between those rings and a PeerNetwork (TCP, UCX or any other).
//
// It is GPUnet's design with what that lacked: the device pushes out and never waits for the CPU,
// the host thread is an ordinary end of the same lanes (the same headers, with credit, epochs and
// bounded work), and no CUDA call is made per message, nor at any time after creation. So a GPU
// node and a CPU node form one cluster, and a GPU node reaches other hosts.
//
// Order: the slots of a lane arrive in the lane of the same number, in their order and without a
// gap, because what a slot means may stand in the one before it. A run of them travels as the
// payload of one slot (proxy_wire.h), so a frame that is torn apart tears no run. Credit goes from
// end to end: a lane's slots leave only while the peer's proxy has a place for them, which is
// another ring of the lane's size, so a device that reads nothing fills its peer's lanes, and
// nothing is ever dropped between correct ends. Grants and liveness words go in the band Control.
//
// Silence: a device whose peer is silent goes on speaking to it, and what its lane does not hold is
// lost, perhaps from the middle of a message (server/device_turn/turn.h). So nothing is taken out
// of the lanes before the peer's first liveness word; and a proxy on which the peer then falls
// silent ends, in good time before the device calls it lost. So does one whose peer lives and
// grants a lane nothing for several times as long: credit that was lost does not come back by
// waiting (fault 21 of docs/internals/faults.md). What was under way is lost, as when a link ends.
//
// The owner makes a new proxy, under a greater epoch that both sides agree on, when this one has
// ended, as it has to when the network reports a new channel to the peer, and when fault() says so.
// Until open() nothing leaves: the peer may not have its end yet, and what devices say that wait
// for liveness words is let go. What names another epoch is
// dropped and counted, like everything that a correct peer does not send; what would leave a gap in
// a lane is a fault besides. One host thread calls everything; kernels run beside it.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/gpu_channel/gpu_channel.h"
#include "netcore/peers/network.h"
#include "netcore/proxy/wire.h"

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
  LaneLayoutOptions layout;  // The same at both ends.
  std::uint32_t epoch = 0;
  // The longest silence of the peer's device, well below what its peers' devices stand. 0: devices
  // that send no liveness words.
  std::uint64_t silence_ms_max = 0;
  // How many slots behind one that begins a message belong to it. Empty: none.
  std::function<std::uint32_t(const Slot&)> slots_behind;
};

struct GpuProxyCounts {
  std::uint64_t slots_out = 0;        // From the device to the network.
  std::uint64_t slots_in = 0;         // From the network to the device.
  std::uint64_t slots_let_go = 0;     // From the device, before the peer was heard.
  std::uint64_t starved = 0;          // 1: it ended because a lane was granted nothing for long.
  std::uint64_t dropped_epoch = 0;    // Of another epoch, or after a fault.
  std::uint64_t dropped_form = 0;     // No such word, lane, length or number of extents.
  std::uint64_t dropped_overrun = 0;  // Slots without credit, or a grant of what was never sent.
  std::uint64_t dropped_gap = 0;      // Slots that do not follow the lane's last one.

  std::uint64_t dropped() const {
    return dropped_epoch + dropped_form + dropped_overrun + dropped_gap;
  }
};

class GpuProxy {
 public:
  // The registry's device may be the host itself, for tests. InvalidArgument, beside what
  // GpuChannel::create says, for payloads that no extent of their band carries.
  static Result<std::unique_ptr<GpuProxy>> create(MemoryRegistry& registry,
                                                  const GpuProxyOptions& options);

  // What kernels work with.
  GpuChannelDevice device() const { return device_end_->device(); }

  // The device's own end, to abort or close it.
  GpuChannel& device_end() { return *device_end_; }

  const GpuChannel& device_end() const { return *device_end_; }

  // The peer has its end of this epoch. Anything that it sends under the epoch says the same.
  void open() { open_ = true; }

  bool is_open() const { return open_; }

  // The network lost the peer, and with it what was under way: nothing moves any more. A silence
  // that is too long does the same.
  void end() { ended_ = true; }

  bool ended() const { return ended_; }

  // Moves what the device has sent to the network, most urgent band first, after the newest
  // liveness word and what the peer is granted; then what is staged to the device. Returns how many
  // words and slots moved; 0: nothing to do. The caller flushes the network.
  std::size_t pump(PeerNetwork& network, std::uint64_t now_ms);

  // A frame of this peer, from Sink::on_frame. `now_ms` is on pump()'s clock.
  void deliver(Band band,
               std::span<const Slot> slots,
               const PayloadView& payloads,
               std::uint64_t now_ms);

  const GpuProxyCounts& counts() const { return counts_; }

  // Why the device's end or this one gave up; see GpuChannel::fault.
  DropReason fault() const;

 private:
  struct Staged {
    Slot slot;
    std::vector<Words128> payload;
    std::uint32_t payload_bytes = 0;
  };

  // The host's end of one lane.
  struct Lane {
    Band band = Band::Control;
    std::uint32_t payload_bytes_max = 0;
    LaneSender to;
    LaneReceiver from;
    CreditSender sending;      // Of what may go to the peer's proxy.
    CreditReceiver receiving;  // Consumed: passed on to the device.
    std::deque<Staged> staged;
    std::uint32_t behind = 0;      // Slots that are still to be let go.
    std::uint64_t starved_ms = 0;  // Since when it has no credit; 0: it has some.
  };

  // Runs on their way to the network.
  struct Batch {
    std::vector<Slot> runs;
    std::vector<std::uint32_t> extent_bytes;  // One extent for each run.
    std::vector<std::byte> bytes;
    std::vector<PayloadExtent> extents;  // Filled when it is sent.
    std::uint32_t slot_count = 0;

    void clear();
  };

  explicit GpuProxy(const GpuProxyOptions& options)
      : options_(options), heard_(options.silence_ms_max == 0) {}

  void open_lanes();
  bool goes_on(std::uint64_t now_ms);
  bool is_starved(Lane& lane);
  bool is_half_full(std::uint32_t number) const;
  std::size_t let_all_go();
  std::size_t let_go(std::uint32_t number);
  std::size_t pump_liveness(PeerNetwork& network);
  std::size_t pump_grants(PeerNetwork& network);
  std::size_t pump_band(PeerNetwork& network, Band band);
  void collect(Band band, std::uint32_t runs_max);
  void collect_lane(std::uint32_t number, Batch& batch);
  bool send(PeerNetwork& network, Band band);
  void on_word(Band band,
               const Slot& slot,
               std::span<const std::byte> extent,
               std::uint64_t now_ms);
  void on_liveness(const ProxyLiveness& word, std::uint64_t now_ms);
  void on_run(Band band, const ProxyRun& run, std::span<const std::byte> extent);
  void on_grants(const ProxyGrants& grants);
  void arrive(Lane& lane, const ProxyRun& run, std::span<const std::byte> extent);
  std::size_t drain(Lane& lane);
  bool push(Lane& lane, const Staged& staged);
  void give_up(DropReason reason);

  GpuProxyOptions options_;
  std::unique_ptr<GpuChannel> device_end_;
  std::unique_ptr<GpuChannel> host_end_;
  std::vector<Lane> lanes_;  // By lane number; they live as long as the epoch.
  std::array<Batch, kBandCount> batches_;
  std::array<std::uint32_t, kBandCount> next_lane_{};  // Where collecting goes on.
  std::uint64_t heartbeats_pushed_ = 0;
  std::uint32_t heartbeat_seen_ = 0;
  Heartbeat heartbeat_;  // The newest one of the device.
  bool heartbeat_waits_ = false;
  bool heard_ = false;  // A liveness word came, or none is waited for.
  std::uint64_t heard_ms_ = 0;
  std::uint64_t pumped_ms_ = 0;  // When pump() was last called.
  bool open_ = false;
  bool ended_ = false;
  DropReason fault_ = DropReason::None;
  GpuProxyCounts counts_;
};

}  // namespace gcoord::netcore
