// How a resident engine finds its peers, begins, and joins channels anew while it runs.
//
// Every node says to each peer, over the peer network, what it is, and the way and epoch of the
// channel that it holds with it (resident_ready.h). From that both choose the way alike. Two that
// do not name the same channel join again: by sockets on which they look for each other
// (resident_join.h), or by proxy, where the lower node makes its end under a new epoch and says so,
// and the other one follows. So a process that came back is found by those that never ended, and a
// join that only one side believes in is made again. The turn rests while a channel is replaced.
//
// Nothing that a peer says or fails at ends this node, and what it says again and again is acted on
// and logged within bounds (resident_patience.h): a pair that cannot join now tries again. Only a
// device that failed is the node's end.
#include "common/device_errors.h"
#include "netcore/gpu_nvlink.h"
#include "server/engine_errors.h"
#include "server/resident_engine.h"
#include "server/say.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kSayReadyMs = 10;
// While all is well it is only said for the case that a peer came back.
constexpr std::uint64_t kSayAgainMs = 100;

// What a peer said of its channel counts so long after this side joined: it may be older.
constexpr std::uint64_t kSettleMs = 300;

// Both sides are about to shake hands, and the turn rests meanwhile: well below an election
// timeout.
constexpr int kHandshakeMs = 100;

// Between two looks at what a peer says it is: it may ask the driver, and peers may say much.
constexpr std::uint64_t kLookMs = 1000;

// A kernel leaves within microseconds, unless its device is shared in slices of time.
constexpr std::uint32_t kRestMs = 2000;

}  // namespace

ResidentEngine::JoinMetrics::JoinMetrics(MetricsRegistry& registry)
    : changes(registry.counter({"gcoord_server_resident_link_changes_total",
                                "Times that the way of the turn to a peer changed, said or not.",
                                "",
                                ""})),
      unmapped(registry.counter({"gcoord_server_resident_mapping_failures_total",
                                 "Times that a peer's memory could not be mapped, or it not met.",
                                 "",
                                 ""})),
      unproxied(registry.counter({"gcoord_server_resident_proxy_failures_total",
                                  "Times that a proxy to a peer could not be made.",
                                  "",
                                  ""})),
      far(registry.counter({"gcoord_server_resident_ready_dropped_total",
                            "Messages on joining that no peer should have sent, by reason.",
                            "reason",
                            "far_epoch"})),
      form(registry.counter({"gcoord_server_resident_ready_dropped_total",
                             "Messages on joining that no peer should have sent, by reason.",
                             "reason",
                             "bad_field"})) {}

// The turn is prepared before anybody is looked for: it takes time, and who was found waits.
Result<std::size_t> ResidentEngine::prepare() {
  GCOORD_TRY_STATUS(turn_->prepare());
  prepared_ = true;
  return std::size_t{1};
}

ResidentMeeting ResidentEngine::meeting(std::uint64_t now_ms) {
  const bool established = admission_->established();
  if (established && established_ms_ == 0) {
    established_ms_ = now_ms;
  }
  const bool all =
      std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.ready; });
  return {.promised = has_promised_,
          .established = established,
          .all_ready = all && node_->connected(),
          .waited_ms = established ? now_ms - established_ms_ : 0};
}

Result<std::size_t> ResidentEngine::meet(std::uint64_t now_ms) {
  GCOORD_TRY(const std::size_t joined, connect_found());
  GCOORD_TRY(const std::size_t proxied, connect_proxies());
  say_ready_when_due(now_ms);
  if (!may_begin(meeting(now_ms))) {
    return joined + proxied;
  }
  GCOORD_TRY_STATUS(stand_in_for_peers());
  GCOORD_TRY_STATUS(begin());
  running_ = true;
  return joined + proxied + 1;
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

ResidentLinkKind ResidentEngine::way_to(NodeId peer) const {
  if (node_->epoch(peer) == 0) {
    return ResidentLinkKind::Undecided;
  }
  return node_->proxy(peer) != nullptr ? ResidentLinkKind::Proxy : ResidentLinkKind::Mapped;
}

void ResidentEngine::say_ready(NodeId to) {
  const Peer* const peer = find_peer(to);
  if (!prepared_ || peer == nullptr) {
    return;
  }
  ResidentReady ready;
  ready.state = running_             ? ResidentState::Runs
                : node_->connected() ? ResidentState::Connected
                                     : ResidentState::Seeks;
  ready.wish = options_.engine.resident_peers;
  ready.mapping = mapping_of(*peer);
  ready.way = way_to(to);
  ready.epoch = node_->epoch(to);
  ready.epoch_next = node_->epoch_next(to);
  ready.place = place_;
  send_peer_message(to, write_resident_ready(ready));
}

void ResidentEngine::on_ready_bytes(NodeId from, std::span<const std::byte> message) {
  const auto said = read_resident_ready(message);
  if (!said.has_value()) {
    joins_.form.add();
  } else if (is_far(from, *said)) {
    joins_.far.add();
  } else {
    on_ready(from, *said);
  }
}

bool ResidentEngine::is_far(NodeId peer, const ResidentReady& said) const {
  const std::uint32_t next = find_peer(peer) != nullptr ? node_->epoch_next(peer) : 1;
  return is_far_epoch(next, said.epoch) || is_far_epoch(next, said.epoch_next);
}

// What is known of a peer, and the epochs of the pair, are of its life. A channel that it had
// before is none, however alike their epochs.
void ResidentEngine::begin_life(NodeId id, Incarnation life) {
  Peer* const peer = find_peer(id);
  if (peer == nullptr || peer->life == life) {
    return;
  }
  if (peer->life != Incarnation{}) {
    node_->forget_epochs(id);
  }
  peer->life = life;
  peer->ready = false;
  peer->heard_last = Tick{};
  peer->patience = {};
  peer->unmapped.clear();
  peer->unproxied.clear();
}

// A node that still waits may not have heard this one. Two that contradict each other do not begin;
// one that runs already leaves it to the other.
void ResidentEngine::on_ready(NodeId from, const ResidentReady& said) {
  Peer* const peer = find_peer(from);
  if (peer == nullptr) {
    return;
  }
  peer->ready = peer->ready || (said.state != ResidentState::Seeks && said.epoch != 0);
  learn(*peer, said);
  if (running_ && said.state != ResidentState::Runs) {
    say_ready(from);
  }
  if (!prepared_) {
    return;
  }
  if (peer->link.kind == ResidentLinkKind::Refused && !running_) {
    say_ready(from);  // The peer is to know why, too.
    network_->flush();
    fail(Status{StatusCode::FailedPrecondition, peer->link.why, kSettingsDiffer});
    return;
  }
  const bool same = said.epoch != 0 && said.epoch == node_->epoch(from) &&
                    said.way == way_to(from) && said.way == peer->link.kind;
  if (!same) {
    join_anew(*peer, said);
  } else if (said.way == ResidentLinkKind::Proxy) {
    proxies_->open(from);
  }
}

// What the peer is, and what follows for the way to it.
void ResidentEngine::learn(Peer& peer, const ResidentReady& said) {
  const bool changed = !(said.place == peer.place) || peer.mapping == Mapping::Unknown;
  if (changed && (peer.looked_ms == 0 || now_ms() >= peer.looked_ms + kLookMs)) {
    peer.place = said.place;
    peer.looked_ms = now_ms();
    peer.mapping = look_at_peer(place_, said.place);
  } else if (changed) {
    peer.mapping = Mapping::Unknown;
  }
  const EngineOptions& options = options_.engine;
  take_link(peer,
            choose_resident_link({options.node, options.resident_peers, mapping_of(peer)},
                                 {peer.id, said.wish, said.mapping}));
}

// What this node says of the mapping, and goes by itself.
Mapping ResidentEngine::mapping_of(const Peer& peer) const {
  const bool failed = peer.mapping == Mapping::Possible && peer.patience.gave_up_mapping();
  return failed ? Mapping::Failed : peer.mapping;
}

// A peer may change its mind as often as it likes; not every time is said.
void ResidentEngine::take_link(Peer& peer, const ResidentLink& link) {
  if (link.kind == peer.link.kind && link.why == peer.link.why) {
    return;
  }
  joins_.changes.add();
  if (peer.link.kind != ResidentLinkKind::Undecided) {
    tell_link(peer.id, peer.link, false);
  }
  peer.link = link;
  if (link.kind == ResidentLinkKind::Undecided) {
    return;
  }
  tell_link(peer.id, link, true);
  if (peer.said.may_say(now_ms())) {
    const std::uint64_t unsaid = peer.said.take_unsaid();
    say("the turn reaches node {} {}: {}{}",
        peer.id.value,
        link.kind == ResidentLinkKind::Refused ? "by no way" : resident_link_kind_name(link.kind),
        link.why,
        unsaid == 0 ? "" : ", after " + std::to_string(unsaid) + " lines that were left out");
  }
}

// What a peer said of its channel counts a while after this side joined: it may be older. A proxy
// of a greater epoch is news at any time.
void ResidentEngine::join_anew(Peer& peer, const ResidentReady& said) {
  const bool settled = now_ms() >= peer.joined_ms + kSettleMs;
  const bool able = !running_ || !disk_stands_still(now_ms());
  if (peer.link.kind == ResidentLinkKind::Mapped && settled && able &&
      peer.patience.may_join(now_ms())) {
    if (peer.patience.should_have_met(now_ms())) {
      on_mapping_failed(peer, {StatusCode::DeadlineExceeded, "the nodes did not meet by sockets"});
    }
    join_->seek(peer.id);
  }
  const bool follows = peer.id < options_.engine.node;
  // One that follows and had the epoch of this node's proxy would ask for a greater one. One that
  // had not is told of it again with what is said anyway. A mapping that the peer gave up waits for
  // nobody.
  const bool outdated = said.epoch == 0 && said.epoch_next <= node_->epoch(peer.id) &&
                        way_to(peer.id) == ResidentLinkKind::Proxy;
  if (peer.link.kind == ResidentLinkKind::Proxy && (follows || (settled && !outdated))) {
    const bool proxied = said.way == ResidentLinkKind::Proxy;
    peer.proxy_epoch =
        proxy_epoch(options_.engine.node,
                    peer.id,
                    {node_->epoch_next(peer.id), said.epoch_next, proxied ? said.epoch : 0});
  }
}

// Tried again, or given up for a proxy: the peer is told with what is said anyway.
void ResidentEngine::on_mapping_failed(Peer& peer, const Status& status) {
  joins_.unmapped.add();
  peer.patience.on_mapping_failed(now_ms());
  peer.joined_ms = now_ms();
  peer.unmapped = status.to_string();
  if (peer.said.may_say(now_ms())) {
    say_warning("node {} was not mapped: {}", peer.id.value, peer.unmapped);
  }
}

// Once a heartbeat came from a peer in this life, each has admitted the other. A channel carries
// votes past whoever judges directories, so nobody joins one with a peer before that. Not while the
// disk stands still, as with proxies.
Result<std::size_t> ResidentEngine::connect_found() {
  if (running_ && disk_stands_still(now_ms())) {
    return std::size_t{0};
  }
  const auto found = join_->take();
  if (!found.has_value()) {
    return std::size_t{0};
  }
  Peer* const peer = find_peer(found->peer);
  if (peer == nullptr || peer->link.kind != ResidentLinkKind::Mapped) {
    return std::size_t{0};
  }
  if (!found->looked.ok()) {
    on_mapping_failed(*peer, found->looked);
    return std::size_t{0};
  }
  if (peer->heard_last == Tick{}) {
    join_->seek(found->peer);
    return std::size_t{0};
  }
  if (running_) {
    GCOORD_TRY_STATUS(rest());
  }
  const Status connected = connect(*found);
  if (is_device_fault(connected.detail())) {
    return connected;
  }
  if (!connected.ok()) {
    on_mapping_failed(*peer, connected);  // Sought again when it says that it is there (on_ready).
  }
  if (running_) {
    GCOORD_TRY_STATUS(go_on());
  }
  return std::size_t{1};
}

// As connect_found(), with those to whom a proxy is due. Whoever is not there yet says again that
// it has none. None is made while the disk stands still: a turn that goes on after a rest gives its
// host new patience, and with a rest for each silence it would lead for ever (fault 8 of
// docs/internals/faults.md).
Result<std::size_t> ResidentEngine::connect_proxies() {
  std::size_t made = 0;
  if (running_ && disk_stands_still(now_ms())) {
    return made;
  }
  for (Peer& peer : peers_) {
    if (!peer.patience.may_join(now_ms())) {
      continue;
    }
    const std::uint32_t epoch = std::exchange(peer.proxy_epoch, 0);
    if (epoch < node_->epoch_next(peer.id) || peer.heard_last == Tick{} ||
        !network_->is_up(peer.id)) {
      continue;
    }
    GCOORD_TRY_STATUS(join_by_proxy(peer, epoch));
    say_ready(peer.id);
    ++made;
  }
  if (made != 0) {
    network_->flush();
  }
  return made;
}

// One that cannot be made is tried again when the peer speaks, after a while.
Status ResidentEngine::join_by_proxy(Peer& peer, std::uint32_t epoch) {
  if (running_) {
    GCOORD_TRY_STATUS(rest());
  }
  const bool follows = peer.id < options_.engine.node;
  const Status made = proxies_->connect(peer.id, epoch, follows);
  if (is_device_fault(made.detail())) {
    return made;
  }
  peer.joined_ms = now_ms();
  if (made.ok()) {
    peer.patience.on_joined(now_ms());
    peer.unproxied.clear();
  } else {
    joins_.unproxied.add();
    peer.patience.on_join_failed(now_ms());
    peer.unproxied = made.to_string();
    if (peer.said.may_say(now_ms())) {
      say_warning("no proxy to node {} could be made: {}", peer.id.value, peer.unproxied);
    }
  }
  return running_ ? go_on() : Status{};
}

// For the operator, behind what is said of a peer without a channel.
std::string ResidentEngine::reason_of_none(const Peer& peer) {
  const std::string& mapped = peer.unmapped;
  const std::string& why = peer.link.kind == ResidentLinkKind::Mapped ? mapped : peer.unproxied;
  return why.empty() ? "" : ", or to be joined again after: " + why;
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
    peer->patience.on_mapped();
    peer->patience.on_joined(now_ms());
    peer->unmapped.clear();
    peer->unproxied.clear();
  }
  return {};
}

}  // namespace gcoord::server
