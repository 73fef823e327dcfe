#include "netcore/peer_core.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::netcore {
namespace {

// The side that may have to give way waits this many least pauses before it calls.
constexpr std::uint64_t kHeadStartPauses = 4;

constexpr std::size_t kGatherFrames = 16;

// An answer of a name server makes no fd readable, so a call under way is looked at this often.
constexpr std::uint64_t kDialPollMs = 20;

}  // namespace

PeerNetwork::Core::Peer::Peer(const PeerNetworkOptions& options, const PeerAddress& peer_address)
    : address(peer_address),
      pacing(options.retry_min_ms, options.retry_max_ms),
      metrics(options.metrics, peer_address.id) {}

PeerNetwork::Core::Core(PeerNetworkOptions options,
                        std::unique_ptr<Transport> transport,
                        std::string transport_why)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      transport_why_(std::move(transport_why)),
      drop_metrics_(options_.metrics) {
  peers_.reserve(options_.peers.size());
  for (const PeerAddress& address : options_.peers) {
    index_of_peer_[address.id] = peers_.size();
    peers_.emplace_back(options_, address);
  }
}

Status PeerNetwork::Core::listen() {
  GCOORD_TRY(listen_port_, transport_->listen(options_.listen_host, options_.listen_port));
  return {};
}

PeerNetwork::Core::Peer* PeerNetwork::Core::find(NodeId id) {
  const auto found = index_of_peer_.find(id);
  return found == index_of_peer_.end() ? nullptr : &peers_[found->second];
}

const PeerNetwork::Core::Peer* PeerNetwork::Core::find(NodeId id) const {
  const auto found = index_of_peer_.find(id);
  return found == index_of_peer_.end() ? nullptr : &peers_[found->second];
}

bool PeerNetwork::Core::arm() {
  flush();
  return transport_->arm();
}

std::uint64_t PeerNetwork::Core::next_deadline_ms() const {
  std::uint64_t next = ~std::uint64_t{0};
  for (const Peer& peer : peers_) {
    if (peer.state == LinkState::Dialing) {
      next = std::min({next, peer.call_deadline_ms, now_ms_ + kDialPollMs});
    } else if (peer.state == LinkState::Greeting) {
      next = std::min(next, peer.call_deadline_ms);
    } else if (peer.state != LinkState::Up && peer.address.port != 0) {
      next = std::min(next, peer.pacing.next_ms());
    } else if (peer.state == LinkState::Up && options_.silence_limit_ms != 0) {
      next = std::min(next, peer.last_heard_ms + options_.silence_limit_ms);
    }
  }
  for (const auto& [link, stranger] : strangers_) {
    next = std::min(next, stranger.deadline_ms);
  }
  return next;
}

void PeerNetwork::Core::progress(std::uint64_t now_ms, Sink& sink) {
  GCOORD_ASSERT(sink_ == nullptr);
  const bool is_first = now_ms_ == 0;
  now_ms_ = std::max(now_ms, now_ms_);
  sink_ = &sink;
  for (Peer& peer : peers_) {
    if (is_first && options_.node > peer.address.id) {
      peer.pacing.wait_at_least(now_ms_ + kHeadStartPauses * options_.retry_min_ms);
    }
    call_if_due(peer);
  }
  flush();
  transport_->progress(now_ms_, *this);
  std::for_each(peers_.begin(), peers_.end(), [this](Peer& peer) { check_limits(peer); });
  check_strangers();
  flush();
  sink_ = nullptr;
}

void PeerNetwork::Core::call_if_due(Peer& peer) {
  const bool is_idle = peer.state == LinkState::Idle || peer.state == LinkState::Refused;
  if (!is_idle || peer.address.port == 0 || !peer.pacing.is_due(now_ms_)) {
    return;
  }
  const Result<LinkId> link = transport_->connect(peer.address.host, peer.address.port);
  if (!link.ok()) {
    fail_call(peer, link.status().message());
    return;
  }
  peer.state = LinkState::Dialing;
  peer.link = link.value();
  peer.call_deadline_ms = now_ms_ + options_.greeting_limit_ms;
  peer_of_link_[peer.link] = static_cast<std::size_t>(&peer - peers_.data());
}

void PeerNetwork::Core::check_limits(Peer& peer) {
  if (is_calling(peer) && now_ms_ >= peer.call_deadline_ms) {
    const bool was_connected = peer.state == LinkState::Greeting;
    take_down(peer, was_connected ? "no answer to the greeting" : "no answer to the call");
    return;
  }
  const bool is_silent = options_.silence_limit_ms != 0 && peer.state == LinkState::Up &&
                         now_ms_ >= peer.last_heard_ms + options_.silence_limit_ms;
  if (is_silent) {
    take_down(peer, "no message arrived within the silence limit");
  }
}

void PeerNetwork::Core::check_strangers() {
  std::vector<LinkId> late;
  for (const auto& [link, stranger] : strangers_) {
    if (now_ms_ >= stranger.deadline_ms) {
      late.push_back(link);
    }
  }
  for (const LinkId link : late) {
    drop_stranger(link, DropReason::GreetingTimeout);
  }
}

void PeerNetwork::Core::flush() {
  for (Peer& peer : peers_) {
    if (peer.channel.has_value()) {
      flush_peer(peer);
    }
  }
}

void PeerNetwork::Core::shrink() {
  for (Peer& peer : peers_) {
    if (peer.channel.has_value()) {
      peer.channel->shrink();
    }
  }
}

void PeerNetwork::Core::flush_peer(Peer& peer) {
  std::array<std::span<const std::byte>, kGatherFrames> frames;
  for (;;) {
    const std::size_t count = peer.channel->collect(frames);
    const std::size_t taken =
        count == 0 ? 0 : transport_->send(peer.link, std::span{frames}.first(count));
    for (std::size_t i = 0; i < taken; ++i) {
      peer.metrics.on_frame_out(frames[i].size());
    }
    peer.channel->taken(taken);
    if (taken < count || count == 0) {
      break;
    }
  }
  peer.metrics.on_unsent(peer.channel->unsent_bytes());
}

std::uint32_t PeerNetwork::Core::credit(NodeId id, Band band) const {
  const Peer* peer = find(id);
  return peer != nullptr && peer->channel.has_value() ? peer->channel->credit(band) : 0;
}

bool PeerNetwork::Core::send(NodeId id,
                             Band band,
                             std::span<const Slot> slots,
                             std::span<const PayloadExtent> payloads) {
  Peer* peer = find(id);
  if (peer == nullptr || !peer->channel.has_value()) {
    return false;
  }
  const bool was_queued = peer->channel->send(band, slots, payloads);
  if (!was_queued) {
    peer->metrics.on_stall();
  }
  return was_queued;
}

void PeerNetwork::Core::heartbeat(NodeId id, const Heartbeat& heartbeat) {
  Peer* peer = find(id);
  if (peer != nullptr && peer->channel.has_value()) {
    peer->channel->heartbeat(heartbeat);
  }
}

bool PeerNetwork::Core::is_up(NodeId id) const {
  const Peer* peer = find(id);
  return peer != nullptr && peer->channel.has_value();
}

std::vector<PeerStatus> PeerNetwork::Core::status() const {
  std::vector<PeerStatus> rows;
  for (const Peer& peer : peers_) {
    PeerStatus& row = rows.emplace_back();
    row.id = peer.address.id;
    row.address = peer.address.host + ":" + std::to_string(peer.address.port);
    row.state = peer.state;
    row.epoch = peer.epoch;
    row.incarnation = peer.incarnation;
    row.transport =
        peer.channel.has_value() ? transport_->route(peer.link) : std::string{transport_->name()};
    row.transport += ": " + transport_why_;
    row.last_error = peer.last_error;
    for (std::size_t i = 0; i < kBandCount && peer.channel.has_value(); ++i) {
      row.credit[i] = peer.channel->credit(static_cast<Band>(i));
    }
    row.traffic = peer.metrics.traffic();
  }
  return rows;
}

}  // namespace gcoord::netcore
