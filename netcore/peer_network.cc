#include "netcore/peer_network.h"

#include "common/incarnation.h"
#include "netcore/credit.h"
#include "netcore/greeting.h"
#include "netcore/peer_core.h"
#include "netcore/ring.h"
#include "netcore/transport_tcp.h"
#include "netcore/transport_ucx.h"

#include <set>
#include <utility>

namespace gcoord::netcore {
namespace {

constexpr std::uint32_t kNodeIdMax = 65535;  // common/ids.h: it travels in 16 bits.

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

Status check(const PeerNetworkOptions& options) {
  if (options.cluster.value == 0) {
    return invalid("the cluster id is 0, which is never valid");
  }
  if (options.node.value == 0 || options.node.value > kNodeIdMax) {
    return invalid("node id " + std::to_string(options.node.value) + " is not in 1 to 65535");
  }
  if (!is_possible(options.incarnation)) {
    return invalid("incarnation " + std::to_string(options.incarnation.value) +
                   " is not one of an opened data directory");
  }
  std::set<std::uint32_t> ids = {options.node.value};
  for (const PeerAddress& peer : options.peers) {
    const std::string id = std::to_string(peer.id.value);
    if (peer.id.value == 0 || peer.id.value > kNodeIdMax) {
      return invalid("peer id " + id + " is not in 1 to 65535");
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
      return make_tcp_transport();
    case TransportKind::Ucx:
      return make_ucx_transport({options.ucx_transports, ""});
  }
  return invalid("unknown transport");
}

}  // namespace

PeerNetwork::PeerNetwork(std::unique_ptr<Core> core) : core_(std::move(core)) {}

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
  auto core = std::make_unique<Core>(std::move(options), std::move(transport), std::move(why));
  GCOORD_TRY_STATUS(core->listen());
  return std::unique_ptr<PeerNetwork>{new PeerNetwork{std::move(core)}};
}

int PeerNetwork::event_fd() const {
  return core_->event_fd();
}

bool PeerNetwork::arm() {
  return core_->arm();
}

std::uint64_t PeerNetwork::next_deadline_ms() const {
  return core_->next_deadline_ms();
}

void PeerNetwork::progress(std::uint64_t now_ms, Sink& sink) {
  core_->progress(now_ms, sink);
}

void PeerNetwork::flush() {
  core_->flush();
}

std::uint32_t PeerNetwork::credit(NodeId peer, Band band) const {
  return core_->credit(peer, band);
}

bool PeerNetwork::send(NodeId peer,
                       Band band,
                       std::span<const Slot> slots,
                       std::span<const PayloadExtent> payloads) {
  return core_->send(peer, band, slots, payloads);
}

void PeerNetwork::heartbeat(NodeId peer, const Heartbeat& heartbeat) {
  core_->heartbeat(peer, heartbeat);
}

void PeerNetwork::shrink() {
  core_->shrink();
}

void PeerNetwork::tell_durable(std::uint64_t durable) {
  core_->tell_durable(durable);
}

std::uint16_t PeerNetwork::listen_port() const {
  return core_->listen_port();
}

bool PeerNetwork::is_up(NodeId peer) const {
  return core_->is_up(peer);
}

std::vector<PeerStatus> PeerNetwork::status() const {
  return core_->status();
}

const std::array<std::uint64_t, kDropReasonCount>& PeerNetwork::dropped_from_strangers() const {
  return core_->dropped_from_strangers();
}

}  // namespace gcoord::netcore
