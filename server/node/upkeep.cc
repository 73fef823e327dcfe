#include "server/node/upkeep.h"

#include "server/node/node_parts.h"
#include "server/peers/client_address.h"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gcoord::server {

Upkeep::Upkeep(Environment parts, std::unique_ptr<DiskUpkeep> disk, Counter& leader_transfers)
    : environment_(parts),
      disk_(std::move(disk)),
      balance_({.view = [this](ShardId shard) { return environment_.engine.view(shard); },
                .transfer = [this](ShardId shard,
                                   NodeId to) { environment_.engine.transfer(shard, to); },
                .takes = [this](NodeId peer) { return takes_leaders(peer); },
                .never_leads = [this](NodeId peer) { return is_witness(peer); }}),
      relief_({.view = [this](ShardId shard) { return environment_.engine.view(shard); },
               .transfer = [this](ShardId shard,
                                  NodeId to) { environment_.engine.transfer(shard, to); },
               .takes = [this](NodeId peer) { return takes_leaders(peer) && !is_witness(peer); }}),
      leader_transfers_(leader_transfers) {}

const protocol::Member* Upkeep::find_member(NodeId node) const {
  return protocol::find_member(environment_.log.members().view, node);
}

bool Upkeep::is_witness(NodeId peer) const {
  const protocol::Member* const member = find_member(peer);
  return member != nullptr && member->role == protocol::MemberRole::Witness;
}

// By its disk, and by the view: one that drains, leaves or joins would hand it on at once.
bool Upkeep::takes_leaders(NodeId peer) const {
  const protocol::Member* const member = find_member(peer);
  const bool stays = member == nullptr || member->state == protocol::MemberState::Active;
  return stays && disk_->takes_leaders(peer);
}

// Whether the view wants this node to lead nothing, and its rows do not see to that themselves: on
// a device they know of no view.
bool Upkeep::drains() const {
  const protocol::Member* const self = find_member(environment_.options.node);
  return self != nullptr && self->state != protocol::MemberState::Active &&
         environment_.engine.abilities().on_device;
}

// Whether the node is to lead nothing because of its GPU.
bool Upkeep::look_at_gpu(std::uint64_t now_ms) {
  if (environment_.gpu == nullptr) {
    return false;
  }
  environment_.gpu->look(now_ms);
  return environment_.gpu->drains();
}

Status Upkeep::advance(std::uint64_t now_ms, bool stopping) {
  if (now_ms < next_sweep_ms_) {
    return Status{};
  }
  next_sweep_ms_ = now_ms + kSweepMs;
  environment_.frontend.sweep(now_ms);
  const NodeView view = environment_.engine.view();
  environment_.log.on_look(view);
  environment_.watches.on_sweep(now_ms, hears_majority(view, environment_.log.members()));
  announce(view);
  log_device_links();
  release_memory();
  disk_->look(now_ms);
  const bool gives = look_at_gpu(now_ms) || disk_->is_low() || drains();
  if (!stopping) {
    leader_transfers_.add(gives ? relief_.sweep(view) : balance_.sweep(view));
  }
  return environment_.ledger.sweep(environment_.engine);
}

// Messages to peers may be lost, so it is said again with every sweep.
void Upkeep::announce(const NodeView& view) {
  const std::vector<std::byte> address =
      encode_client_address(own_address(environment_.options, environment_.frontend.port()));
  const std::vector<std::byte> device = environment_.device_links.announcement();
  for (const NodePeerView& peer : view.peers) {
    environment_.engine.send_peer_message(peer.link.id, address);
    environment_.engine.send_peer_message(peer.link.id, device);
  }
}

void Upkeep::log_device_links() {
  for (const NodeId peer : environment_.device_links.refresh()) {
    environment_.log.on_device_link(
        peer, link_text(environment_.engine, environment_.device_links, peer));
  }
}

// After an election of a million shards, most of what the heap grew by is free but still held.
void Upkeep::release_memory() {
  if (std::exchange(idle_, true) && environment_.engine.shrink()) {
    ::malloc_trim(0);
  }
}

}  // namespace gcoord::server
