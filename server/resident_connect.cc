// How a resident engine finds its peers, begins, and joins channels anew while it runs.
//
// Every node says to each peer, over the peer network, the epoch of the channel that it holds with
// it. Two that do not name the same one look for each other (resident_join.h) until they have
// joined again: so a process that came back is found by those that never ended, and a handshake
// that only one side believes in is made again. The turn rests while a channel is replaced.
#include "netcore/gpu_nvlink.h"
#include "server/engine_errors.h"
#include "server/resident_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

// What a node says of itself, byte 1 of kReadyKind; 0: it looks for its peers.
constexpr std::byte kRuns{1};
constexpr std::byte kConnected{2};

constexpr std::uint64_t kSayReadyMs = 10;
// While all is well it is only said for the case that a peer came back.
constexpr std::uint64_t kSayAgainMs = 100;

// What a peer said of its channel counts so long after this side joined: it may be older.
constexpr std::uint64_t kSettleMs = 300;

// Both sides are about to shake hands, and the turn rests meanwhile: well below an election
// timeout.
constexpr int kHandshakeMs = 100;

// A kernel leaves within microseconds, unless its device is shared in slices of time.
constexpr std::uint32_t kRestMs = 2000;

}  // namespace

// The turn is prepared before anybody is looked for: it takes time, and who was found waits.
Result<std::size_t> ResidentEngine::prepare() {
  GCOORD_TRY_STATUS(turn_->prepare());
  for (const Peer& peer : peers_) {
    join_->seek(peer.id);
  }
  prepared_ = true;
  return std::size_t{1};
}

// A node that has promised something goes on with it; one that begins waits for both others, so
// that none leads everything because it was first, and so that they know its directory.
bool ResidentEngine::may_begin() const {
  if (has_promised_) {
    return true;
  }
  const bool all =
      std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.ready; });
  return all && node_->connected() && admission_->established();
}

Result<std::size_t> ResidentEngine::meet(std::uint64_t now_ms) {
  GCOORD_TRY(const std::size_t joined, connect_found());
  say_ready_when_due(now_ms);
  if (!may_begin()) {
    return joined;
  }
  GCOORD_TRY_STATUS(begin());
  running_ = true;
  return joined + 1;
}

// From here on the rows promise: the directory says so first.
Status ResidentEngine::begin() {
  GCOORD_TRY_STATUS(identity_->mark_in_use());
  network_->tell_durable(durable_word());
  return turn_->start();
}

void ResidentEngine::say_ready_when_due(std::uint64_t now_ms) {
  if (now_ms >= next_ready_ms_) {
    next_ready_ms_ = now_ms + (running_ ? kSayAgainMs : kSayReadyMs);
    for (const Peer& peer : peers_) {
      say_ready(peer.id);
    }
    network_->flush();
  }
}

void ResidentEngine::say_ready(NodeId to) {
  if (!prepared_) {
    return;
  }
  const std::byte state = running_ ? kRuns : node_->connected() ? kConnected : std::byte{};
  std::byte message[kReadyBytes] = {kReadyKind, state};
  const std::uint32_t epoch = node_->epoch(to);
  std::memcpy(message + 4, &epoch, sizeof epoch);
  send_peer_message(to, message);
}

// A node that still waits may not have heard this one.
void ResidentEngine::on_ready(NodeId from, std::span<const std::byte> message) {
  std::uint32_t epoch = 0;
  std::memcpy(&epoch, message.data() + 4, sizeof epoch);
  Peer* const peer = find_peer(from);
  if (peer == nullptr) {
    return;
  }
  peer->ready = peer->ready || (message[1] != std::byte{} && epoch != 0);
  if (running_ && message[1] != kRuns) {
    say_ready(from);
  }
  const bool same = epoch != 0 && epoch == node_->epoch(from);
  if (!same && prepared_ && now_ms() >= peer->joined_ms + kSettleMs) {
    join_->seek(from);
  }
}

// Once a heartbeat came from a peer in this life, each has admitted the other. A channel carries
// votes past whoever judges directories, so nobody joins one with a peer before that.
Result<std::size_t> ResidentEngine::connect_found() {
  GCOORD_TRY_STATUS(join_->failure());
  const auto found = join_->take();
  if (!found.has_value()) {
    return std::size_t{0};
  }
  Peer* const peer = find_peer(found->peer);
  if (peer == nullptr || peer->heard_last == Tick{}) {
    join_->seek(found->peer);
    return std::size_t{0};
  }
  if (running_) {
    GCOORD_TRY_STATUS(rest());
  }
  const Status connected = connect(*found);
  if (!connected.ok()) {
    const bool contradicts = connected.code() == StatusCode::FailedPrecondition;
    if (contradicts && !running_) {
      return connected;
    }
    peer->joined_ms = now_ms();  // Sought again when it says that it is there (on_ready).
  }
  if (running_) {
    GCOORD_TRY_STATUS(go_on());
  }
  return std::size_t{1};
}

Status ResidentEngine::rest() {
  return turn_->stop(kRestMs);
}

// The turn rests: it goes on with the channels and the room that the node has now.
Status ResidentEngine::go_on() {
  GCOORD_TRY_STATUS(node_->go_on());
  GCOORD_TRY_STATUS(turn_->start());
  probe_->rested(now_ms());
  return {};
}

Status ResidentEngine::connect(const ResidentJoin::Found& found) {
  netcore::GpuNvlinkOptions options;
  options.cluster = options_.engine.cluster;
  options.self = options_.engine.node;
  options.peer = found.peer;
  options.layout = node_->channel_layout();
  options.epoch_min = node_->epoch_next(found.peer);
  options.timeout_ms = kHandshakeMs;
  GCOORD_TRY(auto channel, netcore::join_gpu_nvlink(node_->registry(), found.socket, options));
  node_->connect(found.peer, std::move(channel));
  if (Peer* const peer = find_peer(found.peer)) {
    peer->joined_ms = now_ms();
  }
  return {};
}

}  // namespace gcoord::server
