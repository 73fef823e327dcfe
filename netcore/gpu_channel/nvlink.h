// Joins device channels of two processes of one host: each maps the other's region and pushes into
// it; between two GPUs the stores cross NVLink.
//
// The handshake runs over a Unix socket (fd_socket.h): each side sends one greeting of fixed size
// with the descriptor of its region, and checks the other's: protocol version, cluster, node ids,
// layout and epoch must agree. Nothing in a greeting is an address; the size that is mapped is this
// side's own sum, and a descriptor behind which there is less is refused by the mapping.
//
// The epoch: each side names the least it accepts, the greater one lives, as between hosts. Who
// connects again makes a new channel with new memory, under a greater epoch; the old mapping is
// released with the old channel.
//
// Works on host memory too, where the mapping is shared memory: so the handshake, a killed peer and
// an epoch change are tested without a device. Host only, blocking, with time limits.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "netcore/gpu_channel/gpu_channel.h"
#include "netcore/memory/epoch.h"
#include "netcore/transport/fd_socket.h"

#include <cstdint>
#include <memory>

namespace gcoord::netcore {

// Epochs rise by one with every join, and go round (netcore/memory/epoch.h). A peer that asks for
// one so far ahead, or so large, is refused (DataLoss): nobody gets there by joining.
inline constexpr std::uint32_t kGpuEpochLead = 1u << 24;
inline constexpr std::uint32_t kGpuEpochMax = kEpochCount;

// Whether a peer tells of an epoch that no pair reaches by joining. `own_next`: the next one of the
// own side. What lies behind that is never far; what lies just opposite on the circle, neither
// ahead nor behind, is. 0 tells of none.
constexpr bool is_far_epoch(std::uint32_t own_next, std::uint32_t told) {
  const std::uint32_t steps = epoch_steps(own_next, told);
  return told > kGpuEpochMax || (told != 0 && steps > kGpuEpochLead && steps <= kEpochCount / 2);
}

struct GpuNvlinkOptions {
  ClusterId cluster;
  NodeId self;
  NodeId peer;
  LaneLayoutOptions layout;
  std::uint32_t epoch_min = 1;  // Greater than every epoch this side has used with this peer.
  int timeout_ms = 5000;        // For the whole handshake.
};

// The first message each way, 160 bytes. Little-endian; never renumber.
struct GpuGreeting {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint64_t cluster = 0;
  std::uint32_t from_node = 0;
  std::uint32_t to_node = 0;
  std::uint32_t epoch_min = 0;
  std::uint32_t slot_bytes = 0;    // sizeof(SealedSlot): both ends must cut alike.
  std::uint64_t region_bytes = 0;  // Of the sender's layout.
  LaneLayoutOptions layout;
  std::uint64_t reserved[9] = {};
};

static_assert(sizeof(LaneLayoutOptions) == 48);
static_assert(sizeof(GpuGreeting) == 160);

// Both sides call it with their end of one socket, in any order. FailedPrecondition when the
// greetings contradict each other, with what differs; DataLoss for one that cannot be meant.
Result<std::unique_ptr<GpuChannel>> join_gpu_nvlink(MemoryRegistry& registry,
                                                    const OwnedFd& socket,
                                                    const GpuNvlinkOptions& options);

}  // namespace gcoord::netcore
