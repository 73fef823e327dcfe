#include "netcore/device/capability.h"

namespace gcoord::netcore {
namespace {

// Empty: nothing stands in the way.
std::string obstacle_to_loopback(const GpuLinkFacts& facts) {
  return facts.same_process ? "" : "the peer is another process";
}

std::string obstacle_to_nvlink(const GpuLinkFacts& facts) {
  if (!facts.peer_has_gpu) {
    return "the peer has no GPU";
  }
  if (!facts.same_host) {
    return "the peer is on another host";
  }
  if (!facts.peer_visible) {
    return "the peer's device is not visible to this process";
  }
  if (!facts.peer_access) {
    return "the devices have no peer access";
  }
  if (!facts.shares_by_fd) {
    return "a device cannot export memory as a file descriptor";
  }
  return "";
}

}  // namespace

std::string_view gpu_link_kind_name(GpuLinkKind kind) {
  switch (kind) {
    case GpuLinkKind::Loopback:
      return "loopback";
    case GpuLinkKind::Nvlink:
      return "nvlink";
    case GpuLinkKind::Proxy:
      return "proxy";
  }
  return "unknown";
}

std::string GpuLinkCapability::to_text() const {
  return std::string{gpu_link_kind_name(kind)} + ": " + why;
}

GpuLinkCapability choose_gpu_link(const GpuLinkFacts& facts) {
  const std::string no_loopback = obstacle_to_loopback(facts);
  const std::string no_nvlink = obstacle_to_nvlink(facts);
  if (no_loopback.empty()) {
    return {GpuLinkKind::Loopback, "both ends are in this process"};
  }
  if (no_nvlink.empty()) {
    return {GpuLinkKind::Nvlink, "both devices are on this host and reach each other"};
  }
  return {GpuLinkKind::Proxy, no_nvlink};
}

}  // namespace gcoord::netcore
