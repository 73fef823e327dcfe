// What the transport tells the peer network: links that come and go, and their frames.
#include "common/assert.h"
#include "netcore/memory/epoch.h"
#include "netcore/peers/network.h"
#include "netcore/peers/peer_table.h"
#include "netcore/peers/strangers.h"
#include "netcore/transport/greeting.h"

#include <string>
#include <utility>

namespace gcoord::netcore {
namespace {

// Passes what a channel lets through to the sink, with the peer's name on it.
class NamedEvents final : public ChannelEvents {
 public:
  NamedEvents(Sink& sink, NodeId peer) : sink_(sink), peer_(peer) {}

  void on_slots(Band band, std::span<const Slot> slots, const PayloadView& payloads) override {
    sink_.on_frame(peer_, band, slots, payloads);
  }

  void on_heartbeat(const Heartbeat& heartbeat) override { sink_.on_heartbeat(peer_, heartbeat); }

 private:
  Sink& sink_;
  NodeId peer_;
};

// Where a link counts that was dropped before it was a peer's; for None nowhere.
struct CountedDrops {
  Strangers& strangers;
  DropMetrics& metrics;
  const PeerProofs& proofs;

  void add(const DroppedStranger& dropped) {
    if (dropped.reason != DropReason::None) {
      strangers.count(dropped.reason);
      metrics.on_drop(dropped.reason);
      proofs.report(dropped);
    }
  }
};

}  // namespace

void PeerNetwork::on_accepted(LinkId link, std::string_view from) {
  strangers_->add(link, now_ms_ + options_.greeting_limit_ms, from);
  if (strangers_->too_many()) {
    drop_stranger(strangers_->oldest(), DropReason::TooManyStrangers);
  }
}

void PeerNetwork::on_message(LinkId link, std::span<const std::byte> message) {
  PeerRecord* peer = peers_->owner_of(link);
  if (peer == nullptr) {
    on_stranger_message(link, message);
  } else if (peer->state == LinkState::Up) {
    on_channel_message(*peer, message);
  } else {
    on_answer(*peer, message);
  }
}

void PeerNetwork::on_closed(LinkId link, DropReason drop, std::string_view reason) {
  if (strangers_->contains(link)) {
    const std::string address = strangers_->address_of(link);
    strangers_->erase(link);
    CountedDrops{*strangers_, drop_metrics_, proofs_}.add(
        {.address = address, .reason = drop, .text = std::string{reason}, .now_ms = now_ms_});
    return;
  }
  if (PeerRecord* peer = peers_->owner_of(link)) {
    if (drop != DropReason::None) {
      peer->metrics.on_drop(drop);
      drop_metrics_.on_drop(drop);
    }
    if (is_of_certificate(drop)) {
      peer->proof.reset();  // It was not the proof that failed.
      take_down(*peer, reason, LinkState::Refused);
      return;
    }
    take_down(*peer, reason);
  }
}

void PeerNetwork::on_dropped(LinkId link, DropReason drop) {
  if (PeerRecord* peer = peers_->owner_of(link)) {
    peer->metrics.on_drop(drop);
  }
  drop_metrics_.on_drop(drop);
}

void PeerNetwork::drop_stranger(LinkId link, DropReason reason, std::string text) {
  const std::string address = strangers_->address_of(link);
  strangers_->erase(link);
  transport_->close(link);
  CountedDrops{*strangers_, drop_metrics_, proofs_}.add(
      {.address = address,
       .reason = reason,
       .text = text.empty() ? stranger_text(reason) : std::move(text),
       .now_ms = now_ms_});
}

void PeerNetwork::on_channel_message(PeerRecord& peer, std::span<const std::byte> message) {
  FrameView frame;
  DropReason reason = decode_frame(message, frame);
  if (reason == DropReason::None) {
    NamedEvents events{*sink_, peer.address.id};
    reason = peer.channel->on_frame(frame, events);
  }
  if (reason == DropReason::None) {
    peer.last_heard_ms = now_ms_;
    peer.metrics.on_frame_in(message.size());
    return;
  }
  peer.metrics.on_drop(reason);
  drop_metrics_.on_drop(reason);
  if (!is_benign(reason)) {
    take_down(peer, "the peer broke the protocol: " + std::string{drop_reason_name(reason)});
  }
}

void PeerNetwork::bring_up(PeerRecord& peer,
                           LinkId link,
                           const Greeting& theirs,
                           std::uint32_t epoch) {
  GCOORD_ASSERT(is_later_epoch(epoch, peer.epoch));
  peer.state = LinkState::Up;
  peers_->own(peer, link);
  peer.incarnation = theirs.from.incarnation;
  peer.directory = theirs.from.directory;
  peer.life = theirs.from.life;
  peer.is_proven = theirs.from.is_proven;
  peer.proof.reset();
  peer.epoch = epoch;
  peer.last_heard_ms = now_ms_;
  peer.last_error.clear();
  peer.pacing.on_success();
  peer.metrics.on_up(peer.is_proven, transport_->is_encrypted(link));
  ChannelOptions channel;
  channel.cluster = options_.cluster;
  channel.self = options_.node;
  channel.peer = peer.address.id;
  channel.self_incarnation = options_.incarnation;
  channel.peer_incarnation = theirs.from.incarnation;
  channel.epoch = epoch;
  channel.own_ring_slots = options_.ring_slots;
  channel.peer_ring_slots = theirs.ring_slots;
  channel.unsent_bytes_max = options_.unsent_bytes_max;
  peer.channel.emplace(channel);
  transport_->trust(link);
  if (peer.is_proven) {
    proofs_.note(peer.address.id);
  }
  sink_->on_peer_up(peer.address.id, peer.incarnation, epoch);
}

void PeerNetwork::take_down(PeerRecord& peer, std::string_view reason, LinkState after) {
  if (peer.link.value == 0) {
    return;
  }
  transport_->close(peers_->disown(peer));
  const bool was_up = peer.channel.has_value();
  peer.channel.reset();
  fail_call(peer, reason);
  if (after == LinkState::Refused) {
    peer.state = after;
    peer.pacing.on_refusal(now_ms_);
  }
  if (was_up) {
    peer.metrics.on_down();
    sink_->on_peer_down(peer.address.id, peer.last_error);
  }
}

void PeerNetwork::fail_call(PeerRecord& peer, std::string_view reason) {
  peer.state = LinkState::Idle;
  // Whoever was there may be of a release before proofs, or have no secret yet.
  peer.calls_plain = peer.proof.has_value() && !peer.proof->challenged();
  peer.proof.reset();
  peer.last_error = reason;
  if (peer.calls_plain && !proofs_.allows_plain(peer.address.id)) {
    peer.last_error += " instead of a proof that it has the secret of the cluster (GC3125)";
  }
  peer.pacing.on_failure(now_ms_);
  if (options_.node > peer.address.id) {
    peer.pacing.wait_at_least(now_ms_ + 2 * options_.retry_min_ms);
  }
}

}  // namespace gcoord::netcore
