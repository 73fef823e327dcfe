// Choice of the transport between two nodes' device channels: made once per peer, with its reason.
//
// The choice is a pure function of facts that both sides know, so both sides choose alike and tests
// need no device. `to_text` is what `gcoordctl status` shows in a peer's line, in the words that
// PeerStatus::transport uses: the kind first, then the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::netcore {

enum class GpuLinkKind : std::uint8_t {
  Loopback,  // One process, one device: rings in its own memory.
  Nvlink,    // Two processes of one host: rings mapped through descriptors, stores cross NVLink.
  Proxy,     // Rings in pinned memory; a host thread moves slots to the host transports.
};

std::string_view gpu_link_kind_name(GpuLinkKind kind);

// What is known about a pair of nodes before they are joined.
struct GpuLinkFacts {
  bool same_process = false;
  bool same_host = false;     // Same boot of the same kernel, so descriptors can be passed.
  bool peer_has_gpu = false;  // The peer runs its shards on a device.
  bool peer_visible = false;  // The peer's device is visible to this process.
  bool peer_access = false;   // Stores from this device reach the peer's memory.
  bool shares_by_fd = false;  // Both devices export memory as descriptors.
};

struct GpuLinkCapability {
  GpuLinkKind kind = GpuLinkKind::Proxy;
  std::string why;

  // "nvlink: both devices are on this host and reach each other".
  std::string to_text() const;
};

// The fastest kind that the facts allow.
GpuLinkCapability choose_gpu_link(const GpuLinkFacts& facts);

}  // namespace gcoord::netcore
