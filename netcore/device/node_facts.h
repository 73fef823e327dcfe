// GPU facts that a node announces so that its peers can choose how to join their device channels.
//
// Nodes exchange it once, before a channel; both sides then know the same and choose alike
// (gpu_capability.h). It names a boot of a kernel and a device, so that "the same host" and "the
// same device" mean what descriptors and mappings need, not what addresses suggest: two containers
// of one host match, a restored image does not. What a peer says is checked where it is used: a
// mapping that cannot be made fails there, and the proxy is taken. Host only.
#pragma once

#include "common/status.h"
#include "netcore/device/capability.h"

#include <array>
#include <cstdint>
#include <optional>

namespace gcoord::netcore {

struct GpuNodeFacts {
  std::array<char, 40> boot_id{};         // Of the running kernel; empty if it does not say.
  std::uint64_t process_id = 0;           // In the sender's namespace: 0 is never valid.
  std::array<std::uint8_t, 16> device{};  // The GPU's uuid; zeros without one.
  std::uint8_t has_gpu = 0;
  std::uint8_t shares_by_fd = 0;
  std::uint8_t reserved[6] = {};
};

static_assert(sizeof(GpuNodeFacts) == 72);

// About this process, on cuda:`device` or without a GPU.
Result<GpuNodeFacts> own_gpu_node_facts(std::optional<std::uint32_t> device);

// What the two descriptions say about the pair, as seen from `own`.
GpuLinkFacts facts_between(const GpuNodeFacts& own, const GpuNodeFacts& peer);

}  // namespace gcoord::netcore
