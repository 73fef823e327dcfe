// Two ends of a device channel in one process: rings in one device's own memory.
//
// For several shards' replicas on one GPU, for benchmarks, and for every test of what runs over a
// channel. Over a host registry the same pair joins two host threads, which is how the protocol is
// tested where there is no GPU. Host only.
#pragma once

#include "common/status.h"
#include "netcore/gpu_channel/gpu_channel.h"

#include <memory>

namespace gcoord::netcore {

struct GpuChannelPair {
  std::unique_ptr<GpuChannel> first;
  std::unique_ptr<GpuChannel> second;
};

// Both ends under the same options. Destroy them together: each pushes into the other's region.
Result<GpuChannelPair> make_gpu_loopback(MemoryRegistry& registry,
                                         const GpuChannelOptions& options);

}  // namespace gcoord::netcore
