#include "netcore/peers/network.h"

#include "common/assert.h"
#include "common/incarnation.h"
#include "netcore/channel/credit.h"
#include "netcore/channel/ring.h"
#include "netcore/peers/peer_table.h"
#include "netcore/peers/strangers.h"
#include "netcore/transport/greeting.h"
#include "netcore/transport/transport_tcp.h"
#include "netcore/transport/transport_ucx.h"

#include <algorithm>
#include <set>
#include <utility>

namespace gcoord::netcore {
namespace {

constexpr std::uint32_t kNodeIdMax = 65535;  // common/ids.h: it travels in 16 bits.

// The side that may have to give way waits this many least pauses before it calls.
constexpr std::uint64_t kHeadStartPauses = 4;

constexpr std::size_t kGatherFrames = 16;

// An answer of a name server makes no fd readable, so a call under way is looked at this often.
constexpr std::uint64_t kDialPollMs = 20;

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

bool may_be_id(NodeId node) {
  return node.value != 0 && node.value <= kNodeIdMax;
}

Status check(const PeerNetworkOptions& options) {
  if (options.cluster.value == 0) {
    return invalid("the cluster id is 0, which is never valid");
  }
  if (!may_be_id(options.node)) {
    return invalid("node id " + std::to_string(options.node.value) + " is not in 1 to 65535");
  }
  if (!is_possible(options.incarnation)) {
    return invalid("incarnation " + std::to_string(options.incarnation.value) +
                   " is not one of an opened data directory");
  }
  std::set<std::uint32_t> ids = {options.node.value};
  for (const PeerAddress& peer : options.peers) {
    const std::string id = std::to_string(peer.id.value);
    if (!may_be_id(peer.id)) {
      return invalid("peer id " + id + " is not in 1 to 65535");
    }
    if (std::find(options.removed.begin(), options.removed.end(), peer.id) !=
        options.removed.end()) {
      return invalid("node " + id + " was removed from the cluster: leave it out of --peer");
    }
    if (!ids.insert(peer.id.value).second) {
      return invalid("node id " + id + " is named twice: give every --peer an id of its own");
    }
  }
  for (const std::uint32_t slots : options.ring_slots) {
    if (!is_ring_capacity(slots) || slots < kRingSlotsMin || slots > kRingSlotsMax) {
      return invalid("ring size " + std::to_string(slots) +
                     " is not a power of two from 8 to 1048576");
    }
  }
  if (options.retry_min_ms == 0 || options.retry_min_ms > options.retry_max_ms) {
    return invalid("retry pauses must be at least 1 ms and least <= greatest");
  }
  return {};
}

Result<std::unique_ptr<Transport>> make_transport(const PeerNetworkOptions& options) {
  switch (options.transport_kind) {
    case TransportKind::Tcp:
      return make_tcp_transport(options.tls);
    case TransportKind::Ucx:
      return make_ucx_transport({options.ucx_transports, "", options.tls});
  }
  return invalid("unknown transport");
}

// The side that may have to give way when calls cross lets the other one call first.
void give_head_start(PeerRecord& peer, const PeerNetworkOptions& options, std::uint64_t now_ms) {
  if (options.node > peer.address.id) {
    peer.pacing.wait_at_least(now_ms + kHeadStartPauses * options.retry_min_ms);
  }
}

// Whether the peer's channel was opened without a proof that is required by now.
bool must_prove(const PeerRecord& peer, const PeerProofs& proofs) {
  return peer.state == LinkState::Up && !peer.is_proven && !proofs.allows_plain(peer.address.id);
}

// Whether a revocation list has the certificate at the other end of the link.
bool is_revoked(const Transport& transport, const LinkTlsRules* tls, LinkId link) {
  const security::TlsPeer* const peer =
      tls == nullptr || link.value == 0 ? nullptr : transport.certificate(link);
  return peer != nullptr && tls->revokes(*peer);
}

}  // namespace

PeerNetwork::PeerNetwork(PeerNetworkOptions options,
                         std::unique_ptr<Transport> transport,
                         std::string transport_why)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      transport_why_(std::move(transport_why)),
      peers_(std::make_unique<PeerTable>(options_)),
      strangers_(std::make_unique<Strangers>()),
      proofs_(std::move(options_.proof)),
      drop_metrics_(options_.metrics) {}

PeerNetwork::~PeerNetwork() = default;

Result<std::unique_ptr<PeerNetwork>> PeerNetwork::create(PeerNetworkOptions options) {
  GCOORD_TRY_STATUS(check(options));
  std::unique_ptr<Transport> transport = std::move(options.transport);
  std::string why = "given by the caller";
  if (transport == nullptr) {
    GCOORD_TRY(transport, make_transport(options));
    why =
        options.transport_kind == TransportKind::Tcp ? "default between nodes" : "chosen by option";
  }
  std::unique_ptr<PeerNetwork> network(
      new PeerNetwork(std::move(options), std::move(transport), std::move(why)));
  const PeerNetworkOptions& own = network->options_;
  GCOORD_TRY(network->listen_port_, network->transport_->listen(own.listen_host, own.listen_port));
  return network;
}

bool PeerNetwork::arm() {
  flush();
  return transport_->arm();
}

std::uint64_t PeerNetwork::next_deadline_ms() const {
  std::uint64_t next = ~std::uint64_t{0};
  for (const PeerRecord& peer : *peers_) {
    if (must_prove(peer, proofs_)) {
      next = now_ms_;
    } else if (peer.state == LinkState::Dialing) {
      next = std::min({next, peer.call_deadline_ms, now_ms_ + kDialPollMs});
    } else if (peer.state == LinkState::Greeting) {
      next = std::min(next, peer.call_deadline_ms);
    } else if (peer.state != LinkState::Up && peer.address.port != 0) {
      next = std::min(next, peer.pacing.next_ms());
    } else if (peer.state == LinkState::Up && options_.silence_limit_ms != 0) {
      next = std::min(next, peer.last_heard_ms + options_.silence_limit_ms);
    }
  }
  return std::min(next, strangers_->next_deadline_ms());
}

void PeerNetwork::progress(std::uint64_t now_ms, Sink& sink) {
  GCOORD_ASSERT(sink_ == nullptr);
  const bool is_first = now_ms_ == 0;
  now_ms_ = std::max(now_ms, now_ms_);
  sink_ = &sink;
  proofs_.refresh();
  const std::uint64_t tls_version = options_.tls == nullptr ? 0 : options_.tls->version();
  lists_changed_ = std::exchange(tls_version_, tls_version) != tls_version;
  for (PeerRecord& peer : *peers_) {
    if (is_first) {
      give_head_start(peer, options_, now_ms_);
    }
    call_if_due(peer);
  }
  flush();
  transport_->progress(now_ms_, *this);
  for (PeerRecord& peer : *peers_) {
    check_limits(peer);
  }
  for (const LinkId link : strangers_->late(now_ms_)) {
    drop_stranger(link, DropReason::GreetingTimeout);
  }
  flush();
  sink_ = nullptr;
  peers_->erase_hidden();
}

Status PeerNetwork::add_peer(const PeerAddress& address) {
  const std::string id = std::to_string(address.id.value);
  if (!may_be_id(address.id) || address.id == options_.node) {
    return invalid("peer id " + id + " is not in 1 to 65535, or this node's own");
  }
  if (peers_->is_removed(address.id)) {
    return invalid("node " + id + " was removed from the cluster");
  }
  if (peers_->find(address.id) != nullptr) {
    return invalid("node " + id + " is a peer already");
  }
  give_head_start(peers_->add(options_, address), options_, now_ms_);
  return {};
}

void PeerNetwork::set_address(const PeerAddress& address) {
  PeerRecord* peer = peers_->find(address.id);
  if (peer == nullptr) {
    return;
  }
  peer->address = address;
  peer->ends = peer->ends || (address.port == 0 && address.host.empty());
  if (peer->is_calling()) {
    take_down(*peer, "the peer has another address now");
  }
  peer->pacing = CallPacing(options_.retry_min_ms, options_.retry_max_ms);
  give_head_start(*peer, options_, now_ms_);
}

// A record that progress() may be at work on stays until it returns.
void PeerNetwork::remove_peer(NodeId node) {
  peers_->note_removed(node);
  proofs_.forget(node);
  PeerRecord* peer = peers_->find(node);
  if (peer == nullptr) {
    return;
  }
  peers_->hide(*peer);
  if (peer->link.value != 0) {
    transport_->close(peers_->disown(*peer));
  }
  if (peer->channel.has_value()) {
    peer->metrics.on_down();
  }
  if (sink_ == nullptr) {
    peers_->erase_hidden();
  }
}

void PeerNetwork::call_if_due(PeerRecord& peer) {
  const bool is_idle = peer.state == LinkState::Idle || peer.state == LinkState::Refused;
  if (peer.leaves || !is_idle || peer.address.port == 0 || !peer.pacing.is_due(now_ms_)) {
    return;
  }
  const Result<LinkId> link = transport_->connect(peer.address.host, peer.address.port);
  if (!link.ok()) {
    fail_call(peer, link.status().message());
    return;
  }
  peer.state = LinkState::Dialing;
  peers_->own(peer, link.value());
  peer.call_deadline_ms = now_ms_ + options_.greeting_limit_ms;
}

void PeerNetwork::check_limits(PeerRecord& peer) {
  if (std::exchange(peer.ends, false) && peer.state == LinkState::Up) {
    take_down(peer, "another one has the place of the peer", LinkState::Refused);
    return;
  }
  if (peer.is_calling() && now_ms_ >= peer.call_deadline_ms) {
    const bool was_connected = peer.state == LinkState::Greeting;
    take_down(peer, was_connected ? "no answer to the greeting" : "no answer to the call");
    return;
  }
  if (must_prove(peer, proofs_)) {
    take_down(peer, "the channel was opened without a proof, which is required now");
    return;
  }
  if (lists_changed_ && is_revoked(*transport_, options_.tls.get(), peer.link)) {
    peer.metrics.on_drop(DropReason::CertificateRevoked);
    drop_metrics_.on_drop(DropReason::CertificateRevoked);
    take_down(peer, revoked_text(), LinkState::Refused);
    return;
  }
  const bool needs_tls = options_.tls != nullptr && options_.tls->mode() == LinkTlsMode::Required;
  if (needs_tls && peer.state == LinkState::Up && !transport_->is_encrypted(peer.link)) {
    take_down(peer, "the channel was opened without TLS, which is required now");
    return;
  }
  const bool is_silent = options_.silence_limit_ms != 0 && peer.state == LinkState::Up &&
                         now_ms_ >= peer.last_heard_ms + options_.silence_limit_ms;
  if (is_silent) {
    take_down(peer, "nothing was heard within the silence limit");
  }
}

void PeerNetwork::flush() {
  for (PeerRecord& peer : *peers_) {
    if (!peer.leaves && peer.channel.has_value()) {
      flush_peer(peer);
    }
  }
}

void PeerNetwork::shrink() {
  for (PeerRecord& peer : *peers_) {
    if (peer.channel.has_value()) {
      peer.channel->shrink();
    }
  }
}

void PeerNetwork::flush_peer(PeerRecord& peer) {
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

std::uint32_t PeerNetwork::credit(NodeId id, Band band) const {
  const PeerRecord* peer = peers_->find(id);
  return peer != nullptr && peer->channel.has_value() ? peer->channel->credit(band) : 0;
}

void PeerNetwork::hold_credit(Band band, bool held) {
  for (PeerRecord& peer : *peers_) {
    if (peer.channel.has_value()) {
      peer.channel->hold_credit(band, held);
    }
  }
}

bool PeerNetwork::send(NodeId id,
                       Band band,
                       std::span<const Slot> slots,
                       std::span<const PayloadExtent> payloads) {
  PeerRecord* peer = peers_->find(id);
  if (peer == nullptr || !peer->channel.has_value()) {
    return false;
  }
  const bool was_queued = peer->channel->send(band, slots, payloads);
  if (!was_queued) {
    peer->metrics.on_stall();
  }
  return was_queued;
}

void PeerNetwork::heartbeat(NodeId id, const Heartbeat& heartbeat) {
  PeerRecord* peer = peers_->find(id);
  if (peer != nullptr && peer->channel.has_value()) {
    peer->channel->heartbeat(heartbeat);
  }
}

bool PeerNetwork::is_up(NodeId id) const {
  const PeerRecord* peer = peers_->find(id);
  return peer != nullptr && peer->channel.has_value();
}

std::vector<PeerStatus> PeerNetwork::status() const {
  std::vector<PeerStatus> rows;
  for (const PeerRecord& peer : *peers_) {
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
    row.is_proven = peer.channel.has_value() && peer.is_proven;
    for (std::size_t i = 0; i < kBandCount && peer.channel.has_value(); ++i) {
      row.credit[i] = peer.channel->credit(static_cast<Band>(i));
    }
    row.traffic = peer.metrics.traffic();
  }
  return rows;
}

const std::array<std::uint64_t, kDropReasonCount>& PeerNetwork::dropped_from_strangers() const {
  return strangers_->drops();
}

}  // namespace gcoord::netcore
