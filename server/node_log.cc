#include "server/node_log.h"

#include <spdlog/spdlog.h>

namespace gcoord::server {

void NodeLog::on_serving(const NodeOptions& options,
                         const NodePorts& ports,
                         const NodeView& view,
                         std::uint64_t open_ms) {
  spdlog::info(
      "serving cluster {} (id {}), {} shards, incarnation {}: clients on {}:{}, peers on "
      "{}:{}; opened {} in {} ms",
      options.cluster_name,
      view.cluster.value,
      view.shard_count,
      view.incarnation.value,
      options.listen_client.host,
      ports.client,
      options.listen_peer.host,
      ports.peer,
      options.data_dir,
      open_ms);
  const consensus::StepperReport& stepper = view.stepper;
  if (stepper.product.empty()) {
    spdlog::info("shards are stepped on the CPU: {}", view.stepper_why);
  } else {
    spdlog::info("shards are stepped on {} ({}), {} MiB of its memory: {}",
                 stepper.name,
                 stepper.product,
                 stepper.device_memory_bytes >> 20,
                 view.stepper_why);
  }
  if (options.device_fault.kind != DeviceFaultPlan::Kind::None) {
    spdlog::warn("GCOORD_DEVICE_FAULT is set: this node stops on purpose");
  }
  if (options.insecure) {
    spdlog::warn("insecure: nothing is encrypted or authenticated; keep strangers off the network");
  }
}

void NodeLog::on_device_link(NodeId peer, const std::string& text) {
  if (!text.empty()) {
    spdlog::info("device channel to node {}: {}", peer.value, text);
  }
}

void NodeLog::look_at_peer(const NodePeerView& peer) {
  PeerSeen& seen = peers_[peer.link.id.value];
  const bool refused = peer.link.state == netcore::LinkState::Refused;
  if (peer.live && !seen.live) {
    spdlog::info("node {} at {} is up, incarnation {}, over {}",
                 peer.link.id.value,
                 peer.link.address,
                 peer.link.incarnation.value,
                 peer.link.transport);
  } else if (!peer.live && seen.live) {
    spdlog::warn("node {} at {} is down: {}",
                 peer.link.id.value,
                 peer.link.address,
                 peer.link.last_error.empty() ? "it does not answer" : peer.link.last_error);
  } else if (refused && seen.reason != peer.link.last_error) {
    spdlog::error("node {} at {} refuses this node: {}",
                  peer.link.id.value,
                  peer.link.address,
                  peer.link.last_error);
  }
  seen = {peer.link.state, peer.live, refused ? peer.link.last_error : seen.reason};
}

void NodeLog::on_look(const NodeView& view) {
  std::size_t live = 1;  // This node.
  for (const NodePeerView& peer : view.peers) {
    look_at_peer(peer);
    live += peer.live ? 1 : 0;
  }
  const bool majority = live > (view.peers.size() + 1) / 2;
  if (majority_ && !majority) {
    spdlog::warn("{} of {} nodes can be heard: no majority, so nothing can be decided",
                 live,
                 view.peers.size() + 1);
  } else if (majority && !majority_ && !view.peers.empty()) {
    spdlog::info("{} of {} nodes can be heard: a majority", live, view.peers.size() + 1);
  }
  majority_ = majority;
}

}  // namespace gcoord::server
