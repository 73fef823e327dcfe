#include "server/host_turn/outflow.h"

#include "common/assert.h"
#include "server/replicas/shard_codec.h"

#include <algorithm>
#include <cstring>

namespace gcoord::server {
namespace {

// Slots per send: a send is all or nothing, so a channel that is short of room loses no more.
constexpr std::size_t kSendSlots = 1024;

bool is_granted_vote(const consensus::Message& message) {
  return message.kind == consensus::MessageKind::VoteReply &&
         (message.flags & consensus::kFlagReject) == 0;
}

}  // namespace

ReplicaOutflow::ReplicaOutflow(std::span<const netcore::PeerAddress> peers,
                               const EntryLog& log,
                               ReplicaMetrics& metrics)
    : log_(log), metrics_(metrics) {
  for (const netcore::PeerAddress& address : peers) {
    peers_.push_back(Peer{.node = address.id});
  }
}

void ReplicaOutflow::add_peer(NodeId node) {
  if (find(node) == nullptr) {
    peers_.push_back(Peer{.node = node});
  }
}

void ReplicaOutflow::remove_peer(NodeId node) {
  std::erase_if(peers_, [node](const Peer& peer) { return peer.node == node; });
}

void ReplicaOutflow::add(std::uint32_t row, const consensus::Message& message, LogIndex floor) {
  Peer* peer = find(message.to);
  if (peer == nullptr) {
    metrics_.dropped(ReplicaDrop::NoCredit).add();
    return;
  }
  if (message.count > 0 && message.index < floor) {
    metrics_.dropped(ReplicaDrop::EntryGone).add();
    return;
  }
  if (message.count > 0) {
    attach_entries(*peer, row, message);
  }
  if (is_granted_vote(message) && votes_ != nullptr) {
    peer->grants.push_back({message.shard, message.term});
  }
  netcore::Slot& slot = peer->slots.emplace_back();
  std::memcpy(slot.bytes, &message, sizeof message);
  metrics_.messages_out[static_cast<std::size_t>(message.kind)]->add();
}

void ReplicaOutflow::attach_entries(Peer& peer,
                                    std::uint32_t row,
                                    const consensus::Message& message) {
  const auto offset = static_cast<std::uint32_t>(peer.bytes.size());
  for (std::uint32_t k = 1; k <= message.count; ++k) {
    const EntryBlock* block = log_.find(row, message.index + k);
    encode_entry(peer.bytes,
                 block == nullptr ? EntryView{.kind = consensus::EntryKind::Noop}
                                  : EntryView{block->kind, block->payload()});
  }
  const auto length = static_cast<std::uint32_t>(peer.bytes.size()) - offset;
  peer.extents.push_back({static_cast<std::uint32_t>(peer.slots.size()), offset, length});
}

std::uint32_t ReplicaOutflow::gathered(NodeId node) const {
  for (const Peer& peer : peers_) {
    if (peer.node == node) {
      return static_cast<std::uint32_t>(peer.slots.size());
    }
  }
  return 0;
}

void ReplicaOutflow::send(netcore::PeerNetwork& network) {
  for (Peer& peer : peers_) {
    send(network, peer);
    if (!peer.grants.empty()) {
      votes_->on_granted(peer.node, peer.grants);
    }
  }
  clear();
}

void ReplicaOutflow::send(netcore::PeerNetwork& network, Peer& peer) {
  const std::span<const netcore::Slot> slots = peer.slots;
  auto extent = peer.extents.begin();
  std::size_t sent = 0;
  while (sent < slots.size()) {
    const std::size_t credit = network.credit(peer.node, netcore::Band::Consensus);
    const std::size_t count = std::min({slots.size() - sent, credit, kSendSlots});
    payloads_.clear();
    for (; extent != peer.extents.end() && extent->slot_index < sent + count; ++extent) {
      payloads_.push_back({static_cast<std::uint32_t>(extent->slot_index - sent),
                           std::span(peer.bytes).subspan(extent->offset, extent->length)});
    }
    if (count == 0 ||
        !network.send(peer.node, netcore::Band::Consensus, slots.subspan(sent, count), payloads_)) {
      metrics_.dropped(ReplicaDrop::NoCredit).add(slots.size() - sent);
      return;
    }
    sent += count;
  }
}

void ReplicaOutflow::clear() {
  for (Peer& peer : peers_) {
    peer.slots.clear();
    peer.extents.clear();
    peer.bytes.clear();
    peer.grants.clear();
  }
}

void ReplicaOutflow::shrink() {
  for (Peer& peer : peers_) {
    peer = Peer{.node = peer.node};
  }
  payloads_ = {};
}

ReplicaOutflow::Peer* ReplicaOutflow::find(NodeId node) {
  const auto peer = std::find_if(
      peers_.begin(), peers_.end(), [node](const Peer& known) { return known.node == node; });
  return peer == peers_.end() ? nullptr : &*peer;
}

}  // namespace gcoord::server
