#include "server/peers/device_links.h"

#include "netcore/device/capability.h"
#include "netcore/device/gpu_device.h"

#include <cstring>
#include <optional>

namespace gcoord::server {
namespace {

// More peers than any cluster has (7 nodes); a peer network admits only configured ones anyway.
constexpr std::size_t kPeersMax = 64;

constexpr const char* kNotInUse = "not in use, because the turn runs on the host; it could be ";

bool equal(const netcore::GpuNodeFacts& a, const netcore::GpuNodeFacts& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

DeviceLinks::DeviceLinks(const std::string& stepper) {
  std::optional<std::uint32_t> device;
  if (const auto index = netcore::parse_gpu_name(stepper); index.ok()) {
    device = index.value();
  }
  auto facts = netcore::own_gpu_node_facts(device);
  if (!facts.ok()) {
    obstacle_ = facts.status();
    facts = netcore::own_gpu_node_facts(std::nullopt);
  }
  if (facts.ok()) {
    own_ = facts.value();
  }
}

std::vector<std::byte> DeviceLinks::announcement() const {
  std::vector<std::byte> message(1 + sizeof own_, kDeviceFactsKind);
  std::memcpy(message.data() + 1, &own_, sizeof own_);
  return message;
}

bool DeviceLinks::learn(NodeId from, std::span<const std::byte> message) {
  if (message.size() != 1 + sizeof(netcore::GpuNodeFacts) || message.front() != kDeviceFactsKind) {
    return false;
  }
  netcore::GpuNodeFacts facts;
  std::memcpy(&facts, message.data() + 1, sizeof facts);
  facts.boot_id.back() = 0;
  if (!peers_.contains(from) && peers_.size() >= kPeersMax) {
    return true;
  }
  Peer& peer = peers_[from];
  if (peer.text.empty() || !equal(peer.facts, facts)) {
    peer.facts = facts;
    peer.fresh = true;
  }
  return true;
}

std::vector<NodeId> DeviceLinks::refresh() {
  std::vector<NodeId> chosen;
  for (auto& [node, peer] : peers_) {
    if (peer.fresh) {
      peer.fresh = false;
      peer.text = choose(peer.facts);
      chosen.push_back(node);
    }
  }
  return chosen;
}

std::string DeviceLinks::text(NodeId peer) const {
  const auto known = peers_.find(peer);
  const bool without_device = own_.has_gpu == 0 && obstacle_.ok();
  return known == peers_.end() || without_device ? std::string{} : kNotInUse + known->second.text;
}

std::string DeviceLinks::choose(const netcore::GpuNodeFacts& peer) const {
  if (!obstacle_.ok()) {
    return netcore::GpuLinkCapability{netcore::GpuLinkKind::Proxy, obstacle_.message()}.to_text();
  }
  return netcore::choose_gpu_link(netcore::facts_between(own_, peer)).to_text();
}

}  // namespace gcoord::server
