// What the transport tells the peer network: links that come and go, greetings, frames.
#include "common/assert.h"
#include "netcore/peers/network.h"
#include "netcore/peers/peer_table.h"
#include "netcore/peers/strangers.h"
#include "netcore/transport/greeting.h"

#include <utility>

namespace gcoord::netcore {
namespace {

bool is_channel_kind(FrameKind kind) {
  return kind == FrameKind::Slots || kind == FrameKind::Grant || kind == FrameKind::Heartbeat;
}

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

// A refusal of these says itself that somebody else answers at the address.
bool is_of_a_stranger(RefusalCode code) {
  return code == RefusalCode::WrongVersion || code == RefusalCode::WrongCluster ||
         code == RefusalCode::UnknownNode;
}

// Why a refusal is not the peer's word to this node; None: it is.
DropReason stranger_of(const FrameHeader& header, const PeerNetworkOptions& own, NodeId peer) {
  if (header.cluster != own.cluster.value) {
    return DropReason::WrongCluster;
  }
  const bool between = header.from_node == peer.value && header.to_node == own.node.value;
  return between ? DropReason::None : DropReason::WrongNode;
}

}  // namespace

Greeting PeerNetwork::self_greeting(NodeId to, std::uint32_t epoch) const {
  Greeting greeting;
  greeting.from = {.cluster = options_.cluster,
                   .node = options_.node,
                   .incarnation = options_.incarnation,
                   .directory = options_.directory,
                   .life = options_.life,
                   .durable = options_.durable,
                   .settings = options_.settings};
  greeting.to = to;
  greeting.former = options_.former;
  greeting.epoch = epoch;
  greeting.ring_slots = options_.ring_slots;
  return greeting;
}

CallerRecord PeerNetwork::record_of(NodeId node, const PeerRecord* peer) const {
  CallerRecord record;
  record.is_removed = peers_->is_removed(node);
  if (peer != nullptr) {
    record.is_configured = true;
    record.is_up = peer->state == LinkState::Up;
    record.is_calling_it = peer->is_calling();
    record.incarnation = peer->incarnation;
    record.directory = peer->directory;
    record.life = peer->life;
    record.epoch = peer->epoch;
  }
  return record;
}

Admission PeerNetwork::ask_hook(const PeerIdentity& identity) const {
  return options_.admit ? options_.admit(identity) : Admission{};
}

void PeerNetwork::on_accepted(LinkId link, std::string_view from) {
  strangers_->add(link, from, now_ms_ + options_.greeting_limit_ms);
  if (strangers_->too_many()) {
    drop_stranger(link, DropReason::TooManyStrangers);
  }
}

void PeerNetwork::on_connected(LinkId link) {
  PeerRecord* peer = peers_->owner_of(link);
  if (peer == nullptr) {
    return;
  }
  std::array<std::byte, kGreetingBytes> bytes;
  encode_greeting(FrameKind::Hello, self_greeting(peer->address.id, peer->epoch + 1), bytes);
  const std::span<const std::byte> message{bytes};
  peer->state = LinkState::Greeting;
  if (transport_->send(link, {&message, 1}) != 1) {
    take_down(*peer, "the greeting could not be sent");
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
  if (strangers_->erase(link)) {
    if (drop != DropReason::None) {
      strangers_->count(drop);
      drop_metrics_.on_drop(drop);
    }
    return;
  }
  if (PeerRecord* peer = peers_->owner_of(link)) {
    if (drop != DropReason::None) {
      peer->metrics.on_drop(drop);
      drop_metrics_.on_drop(drop);
    }
    take_down(*peer, reason);
  }
}

void PeerNetwork::on_stranger_message(LinkId link, std::span<const std::byte> message) {
  if (!strangers_->contains(link)) {
    return;
  }
  FrameView frame;
  Greeting hello;
  DropReason reason = decode_frame(message, frame);
  if (reason == DropReason::None && frame.header.kind != FrameKind::Hello) {
    reason = DropReason::UnexpectedKind;
  }
  if (reason == DropReason::None) {
    reason = decode_greeting(frame, hello);
  }
  if (reason != DropReason::None) {
    drop_stranger(link, reason);
    return;
  }
  on_hello(link, hello);
}

void PeerNetwork::on_hello(LinkId link, const Greeting& hello) {
  PeerRecord* peer = peers_->find(hello.from.node);
  const Greeting self = self_greeting(hello.from.node, 0);
  Admission admission = judge_hello(hello, self, record_of(hello.from.node, peer));
  if (admission.admitted()) {
    admission = ask_hook(hello.from);
  }
  const std::uint32_t epoch =
      peer == nullptr ? 0 : next_epoch(hello, options_.incarnation, peer->epoch);
  if (admission.admitted() && epoch > kEpochMax) {
    admission = {.code = RefusalCode::NotAdmitted,
                 .text = "out of channel epochs: restart this node"};
  }
  if (!admission.admitted()) {
    refuse(link, hello.from.node, admission);
    return;
  }
  std::array<std::byte, kGreetingBytes> bytes;
  encode_greeting(FrameKind::Welcome, self_greeting(hello.from.node, epoch), bytes);
  const std::span<const std::byte> message{bytes};
  if (transport_->send(link, {&message, 1}) != 1) {
    drop_stranger(link, DropReason::None);
    return;
  }
  take_down(*peer, "the peer called again");
  if (peer->leaves) {  // Whoever was told of it had the peer removed.
    drop_stranger(link, DropReason::None);
    return;
  }
  strangers_->erase(link);
  bring_up(*peer, link, hello, epoch);
}

void PeerNetwork::refuse(LinkId link, NodeId to, const Admission& admission) {
  if (PeerRecord* peer = peers_->find(to);
      peer != nullptr && admission.code != RefusalCode::CallCrossed) {
    peer->last_error = "refused the peer: " + admission.text;
  }
  alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> bytes;
  const std::size_t length = encode_refusal(
      self_greeting(to, 0), {admission.code, admission.text, admission.known}, bytes);
  const std::span<const std::byte> message{bytes.data(), length};
  transport_->send(link, {&message, 1});
  const DropReason reason = admission.code == RefusalCode::WrongCluster ? DropReason::WrongCluster
                                                                        : DropReason::WrongNode;
  drop_stranger(link, admission.code == RefusalCode::CallCrossed ? DropReason::None : reason);
}

void PeerNetwork::drop_stranger(LinkId link, DropReason reason) {
  strangers_->erase(link);
  transport_->close(link);
  if (reason != DropReason::None) {
    strangers_->count(reason);
    drop_metrics_.on_drop(reason);
  }
}

void PeerNetwork::on_answer(PeerRecord& peer, std::span<const std::byte> message) {
  FrameView frame;
  DropReason reason = decode_frame(message, frame);
  if (reason == DropReason::None && frame.header.kind == FrameKind::Refusal) {
    Refusal refusal;
    reason = decode_refusal(frame, refusal);
    if (reason == DropReason::None) {
      on_refusal(peer, refusal, stranger_of(frame.header, options_, peer.address.id));
      return;
    }
  } else if (reason == DropReason::None && frame.header.kind == FrameKind::Welcome) {
    Greeting welcome;
    reason = decode_greeting(frame, welcome);
    if (reason == DropReason::None) {
      on_welcome(peer, welcome);
      return;
    }
  } else if (reason == DropReason::None) {
    // A transport that reorders may bring the channel's first frames before the answer that opens
    // it. They are lost, not wrong.
    reason =
        is_channel_kind(frame.header.kind) ? DropReason::StaleEpoch : DropReason::UnexpectedKind;
  }
  peer.metrics.on_drop(reason);
  drop_metrics_.on_drop(reason);
  if (!is_benign(reason)) {
    take_down(peer, "the answer to the greeting broke the protocol");
  }
}

void PeerNetwork::on_welcome(PeerRecord& peer, const Greeting& welcome) {
  const Greeting self = self_greeting(peer.address.id, 0);
  Admission admission = judge_welcome(welcome, self, record_of(peer.address.id, &peer));
  if (admission.admitted() && welcome.from.node != peer.address.id) {
    admission = {.code = RefusalCode::UnknownNode,
                 .text = "node " + std::to_string(welcome.from.node.value) +
                         " answers at the address of " + std::to_string(peer.address.id.value) +
                         ": correct the --peer options"};
  }
  if (admission.admitted()) {
    admission = ask_hook(welcome.from);
  }
  if (!admission.admitted()) {
    take_down(peer, "refused the peer: " + admission.text);
    peer.state = LinkState::Refused;
    peer.pacing.on_refusal(now_ms_);
    return;
  }
  bring_up(peer, peer.link, welcome, welcome.epoch);
}

// What a stranger at the peer's address says shows in the peer's row, and goes no further.
void PeerNetwork::on_refusal(PeerRecord& peer, const Refusal& refusal, DropReason stranger) {
  take_down(peer, refusal.text);
  if (refusal.code == RefusalCode::CallCrossed) {
    return;  // The other call is on its way; the usual pause covers the case that it fails.
  }
  peer.state = LinkState::Refused;
  peer.last_error = std::string{refusal_code_name(refusal.code)} + ": " + refusal.text;
  peer.pacing.on_refusal(now_ms_);
  if (stranger != DropReason::None) {
    peer.metrics.on_drop(stranger);
    drop_metrics_.on_drop(stranger);
  }
  if (stranger == DropReason::None || is_of_a_stranger(refusal.code)) {
    sink_->on_refused(peer.address.id, refusal);
  }
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
  GCOORD_ASSERT(epoch > peer.epoch);
  peer.state = LinkState::Up;
  peers_->own(peer, link);
  peer.incarnation = theirs.from.incarnation;
  peer.directory = theirs.from.directory;
  peer.life = theirs.from.life;
  peer.epoch = epoch;
  peer.last_heard_ms = now_ms_;
  peer.last_error.clear();
  peer.pacing.on_success();
  peer.metrics.on_up();
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
  sink_->on_peer_up(peer.address.id, peer.incarnation, epoch);
}

void PeerNetwork::take_down(PeerRecord& peer, std::string_view reason) {
  if (peer.link.value == 0) {
    return;
  }
  transport_->close(peers_->disown(peer));
  const bool was_up = peer.channel.has_value();
  peer.channel.reset();
  fail_call(peer, reason);
  if (was_up) {
    peer.metrics.on_down();
    sink_->on_peer_down(peer.address.id, peer.last_error);
  }
}

void PeerNetwork::fail_call(PeerRecord& peer, std::string_view reason) {
  peer.state = LinkState::Idle;
  peer.last_error = reason;
  peer.pacing.on_failure(now_ms_);
  if (options_.node > peer.address.id) {
    peer.pacing.wait_at_least(now_ms_ + 2 * options_.retry_min_ms);
  }
}

}  // namespace gcoord::netcore
