// The host's half of a device channel: it owns the memory and the epoch, and hands out the handle
// that kernels work with (gpu_channel_device.h).
//
// One object is one node's end of one channel for one epoch. Life: create (allocates and zeroes),
// attach to the peer's region (how it came here is the transport's business: gpu_loopback.h,
// gpu_nvlink.h, gpu_proxy.h), device() for kernels, and at the end close(). A reconnect is a new
// object under a greater epoch with new memory, so whatever a late peer still writes lands in
// memory that nobody reads any more.
//
// Ending: close() ends the epoch in the control word; every bounded wait of this channel then
// returns EpochChanged. Only when the owner's kernels have left may the object be destroyed, which
// unmaps the peer's memory: a kernel that stores through an old handle after that would fault its
// context. The channel cannot know; joining kernels is the owner's duty.
//
// Faults: fault() is what either end's kernels found out about the peer. They have stopped using
// the channel; the owner ends it and makes a new one. No other channel notices. Host only, one
// thread.
#pragma once

#include "common/status.h"
#include "netcore/channel/drop_reason.h"
#include "netcore/gpu_channel/device.h"
#include "netcore/gpu_channel/lane_layout.h"
#include "netcore/memory/registry.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace gcoord::netcore {

struct GpuChannelOptions {
  LaneLayoutOptions layout;
  std::uint32_t epoch = 0;                        // Not 0; greater than any before with this peer.
  MemoryKind region_kind = MemoryKind::Shared;    // Where the peer writes: Shared or Pinned.
  MemoryKind private_kind = MemoryKind::Private;  // Pinned for an end that a host thread works.
};

// What all lanes of one end counted; see LaneReport.
struct GpuChannelCounts {
  LaneReport sent;
  LaneReport received;
};

// Adds what one more channel counted.
void add(GpuChannelCounts& sum, const GpuChannelCounts& one);

class GpuChannel {
 public:
  // InvalidArgument for a layout that is none or epoch 0; ResourceExhausted without memory, with
  // the sum.
  static Result<std::unique_ptr<GpuChannel>> create(MemoryRegistry& registry,
                                                    const GpuChannelOptions& options);
  // Releases everything, the peer's mapping included. No kernel uses the handle any more.
  ~GpuChannel();
  GpuChannel(const GpuChannel&) = delete;
  GpuChannel& operator=(const GpuChannel&) = delete;

  const GpuChannelOptions& options() const { return options_; }

  // This end's region: its descriptor goes to the peer (Shared), or its address (same process).
  const MemoryRange& region() const { return region_; }

  // Where to push. `owned`: the range is released with this object (an Imported one).
  void attach(const MemoryRange& peer_region, bool owned);

  // The epoch that both sides agreed on, if it is not the one of the options. Before any kernel.
  Status begin(std::uint32_t epoch);

  bool attached() const { return peer_.address != nullptr; }

  // For kernels and for host threads at pinned memory. Asserts attached().
  GpuChannelDevice device() const;

  // Asks every waiter of this channel to leave with Aborted. A failure is the device's; waiters
  // then leave at their deadlines.
  Status abort();
  // Ends the epoch: waiters leave with EpochChanged. As abort() otherwise.
  Status close();

  // Why this end's kernels gave the channel up; None while it lives.
  DropReason fault() const;

  // The sums over lanes. Exact when no kernel runs; some slots late while one does.
  GpuChannelCounts counts() const;

  // Bytes of device and host memory that this end holds, its own only.
  std::size_t memory_bytes() const;

 private:
  GpuChannel(MemoryRegistry& registry, const GpuChannelOptions& options)
      : registry_(registry), options_(options) {}

  Status allocate();
  LaneReport* reports() const;
  ChannelControl* control() const;
  std::uint64_t* fault_notice() const;
  Status store(std::uint64_t& word, std::uint64_t value);

  MemoryRegistry& registry_;
  GpuChannelOptions options_;
  MemoryRange region_;
  MemoryRange states_;        // Private: the control words, then a state per lane.
  MemoryRange shared_words_;  // Pinned: the fault notice, then reports of senders, of receivers.
  MemoryRange peer_;
  bool owns_peer_ = false;
};

}  // namespace gcoord::netcore
