#include "server/resident/links/link_keeper.h"

#include "common/device/device_errors.h"
#include "netcore/gpu_channel/nvlink.h"
#include "server/interfaces/errors.h"
#include "server/platform/service_message.h"

#include <algorithm>
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

// A peer counts as live for so long after it was heard.
constexpr std::uint64_t kHeardMs = 1000;

ResidentJoinOptions join_options(const LinkKeeper::Options& options) {
  ResidentJoinOptions join{options.self, {}, options.place.folder};
  for (const netcore::PeerAddress& peer : options.peers) {
    join.peers.push_back(peer.id);
  }
  return join;
}

ResidentLink refused(const LinkContradiction& why) {
  return {ResidentLinkKind::Refused, why.text, false, why.code};
}

}  // namespace

LinkKeeper::Metrics::Metrics(MetricsRegistry& registry)
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

LinkKeeper::LinkKeeper(Options options, Environment environment)
    : options_(std::move(options)),
      env_(std::move(environment)),
      metrics_(env_.registry),
      proxies_(env_.node, env_.network, env_.registry, options_.proxy_silence_ms),
      join_(join_options(options_)) {
  for (const netcore::PeerAddress& peer : options_.peers) {
    peers_.push_back({.id = peer.id});
  }
}

Result<std::size_t> LinkKeeper::join() {
  GCOORD_TRY(const std::size_t found, connect_found());
  GCOORD_TRY(const std::size_t proxied, connect_proxies());
  return found + proxied;
}

bool LinkKeeper::all_ready() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.ready; });
}

void LinkKeeper::on_heartbeat(NodeId from) {
  if (Peer* const peer = find_peer(from)) {
    peer->heard_ms = env_.now_ms();
    peer->heard_last = Tick{peer->heard_ms / options_.tick_ms};
  }
}

// A new channel between the hosts: what a proxy had under way in the last one is lost, and what the
// peer says from here on is new.
void LinkKeeper::on_peer_up(NodeId from, Incarnation incarnation) {
  proxies_.end(from);
  begin_life(from, incarnation);
  if (Peer* const peer = find_peer(from)) {
    peer->joined_ms = 0;
    peer->proxy_epoch = 0;
  }
}

void LinkKeeper::on_peer_down(NodeId from) {
  proxies_.end(from);
  if (Peer* const peer = find_peer(from)) {
    peer->heard_ms = 0;
    peer->proxy_epoch = 0;
  }
}

Status LinkKeeper::cut(NodeId id) {
  Peer* const peer = find_peer(id);
  if (peer == nullptr) {
    return {};
  }
  on_peer_down(id);
  peer->heard_last = Tick{};
  peer->folder.reset();
  join_.forget(id);
  bells_.forget(id);
  return env_.while_quiesced([this, id] { return env_.node.stand_in(id); });
}

Incarnation LinkKeeper::life_of(NodeId id) const {
  const Peer* const peer = find_peer(id);
  return peer == nullptr ? Incarnation{} : peer->life;
}

LinkKeeper::Heard LinkKeeper::heard(NodeId id) const {
  const Peer* const peer = find_peer(id);
  if (peer == nullptr) {
    return {};
  }
  const bool live = peer->heard_ms != 0 && env_.now_ms() - peer->heard_ms < kHeardMs;
  return {live, peer->heard_last};
}

void LinkKeeper::say_ready_when_due(std::uint64_t now_ms) {
  if (now_ms >= next_ready_ms_) {
    next_ready_ms_ = now_ms + (runs() ? kSayAgainMs : kSayReadyMs);
    for (const Peer& peer : peers_) {
      say_ready(peer.id);
    }
    env_.network.flush();
  }
}

ResidentLinkKind LinkKeeper::way_to(NodeId peer) const {
  if (env_.node.epoch(peer) == 0) {
    return ResidentLinkKind::Undecided;
  }
  return env_.node.proxy(peer) != nullptr ? ResidentLinkKind::Proxy : ResidentLinkKind::Mapped;
}

void LinkKeeper::say_ready(NodeId to) {
  const Peer* const peer = find_peer(to);
  if (phase_ == ResidentPhase::Prepares || peer == nullptr) {
    return;
  }
  ResidentReady ready;
  ready.state = runs()                  ? ResidentState::Runs
                : env_.node.connected() ? ResidentState::Connected
                                        : ResidentState::Seeks;
  ready.wish = options_.wish;
  ready.mapping = mapping_of(*peer);
  ready.way = way_to(to);
  ready.epoch = env_.node.epoch(to);
  ready.epoch_next = env_.node.epoch_next(to);
  ready.tells_folder = !options_.place.folder.path.empty();
  ready.place = options_.place;
  if (ready.tells_folder && peer->wants_folder) {
    send_service_message(env_.network, to, write_socket_folder(options_.place.folder));
  }
  if (peer->says_hello) {
    send_service_message(env_.network, to, write_link_hello(own_hello()));
  }
  send_service_message(env_.network, to, write_resident_ready(ready));
}

void LinkKeeper::on_folder_bytes(NodeId from, std::span<const std::byte> message) {
  auto told = read_socket_folder(message);
  if (!told.has_value()) {
    metrics_.form.add();
  } else if (Peer* const peer = find_peer(from)) {
    peer->folder = std::move(told);
  }
}

void LinkKeeper::on_hello_bytes(NodeId from, std::span<const std::byte> message) {
  const auto said = read_link_hello(message);
  Peer* const peer = find_peer(from);
  if (!said.has_value()) {
    metrics_.form.add();
  }
  if (peer != nullptr) {
    peer->hello_unread = !said.has_value();  // One that was read before counts on.
    peer->hello = said.has_value() ? said : peer->hello;
  }
}

LinkHello LinkKeeper::own_hello() const {
  LinkHello hello = options_.hello;
  hello.used = env_.features_used ? env_.features_used() & hello.features : 0;
  return hello;
}

void LinkKeeper::on_ready_bytes(NodeId from, std::span<const std::byte> message) {
  const auto said = read_resident_ready(message);
  if (!said.has_value()) {
    metrics_.form.add();
  } else if (is_far(from, *said)) {
    metrics_.far.add();
  } else {
    on_ready(from, *said);
  }
}

bool LinkKeeper::is_far(NodeId peer, const ResidentReady& said) const {
  const std::uint32_t next = find_peer(peer) != nullptr ? env_.node.epoch_next(peer) : 1;
  return netcore::is_far_epoch(next, said.epoch) || netcore::is_far_epoch(next, said.epoch_next);
}

// What is known of a peer, and the epochs of the pair, are of its life. A channel that it had
// before is none, however alike their epochs.
void LinkKeeper::begin_life(NodeId id, Incarnation life) {
  Peer* const peer = find_peer(id);
  if (peer == nullptr || peer->life == life) {
    return;
  }
  if (peer->life != Incarnation{}) {
    env_.node.forget_epochs(id);
  }
  peer->life = life;
  peer->ready = false;
  peer->heard_last = Tick{};
  peer->folder.reset();
  peer->wants_folder = false;
  peer->hello.reset();
  peer->says_hello = false;
  peer->hello_unread = false;
  peer->patience = {};
  peer->unmapped.clear();
  peer->unproxied.clear();
}

// A node that still waits may not have heard this one. Two whose options contradict each other do
// not begin; one that runs already leaves it to the other. What a hello says ends nobody: it may be
// one of a release that is on its way out.
void LinkKeeper::on_ready(NodeId from, const ResidentReady& said) {
  Peer* const peer = find_peer(from);
  if (peer == nullptr) {
    return;
  }
  peer->wants_folder = said.tells_folder;
  if (!std::exchange(peer->says_hello, said.says_hello) && said.says_hello) {
    send_service_message(env_.network, from, write_link_hello(own_hello()));  // It waits for that.
  }
  peer->ready = peer->ready || (said.state != ResidentState::Seeks && said.epoch != 0);
  learn(*peer, said);
  if (runs() && said.state != ResidentState::Runs) {
    say_ready(from);
  }
  if (phase_ == ResidentPhase::Prepares) {
    return;
  }
  if (peer->link.by_options && !runs()) {
    say_ready(from);  // The peer is to know why, too.
    env_.network.flush();
    env_.fail(Status{StatusCode::FailedPrecondition, peer->link.why, kSettingsDiffer});
    return;
  }
  const bool same = said.epoch != 0 && said.epoch == env_.node.epoch(from) &&
                    said.way == way_to(from) && said.way == peer->link.kind;
  if (!same) {
    join_anew(*peer, said);
  } else if (said.way == ResidentLinkKind::Proxy) {
    proxies_.open(from);
  }
}

// What the peer is, and what follows for the way to it.
void LinkKeeper::learn(Peer& peer, const ResidentReady& said) {
  const ResidentAddress place{peer.folder.value_or(SocketFolder{}), said.place.facts};
  const bool whole = peer.folder.has_value() || !said.tells_folder;
  const bool changed = !(place == peer.place) || peer.mapping == Mapping::Unknown;
  if (whole && changed && (peer.looked_ms == 0 || env_.now_ms() >= peer.looked_ms + kLookMs)) {
    peer.place = place;
    peer.looked_ms = env_.now_ms();
    const auto reached = may_meet(options_.place, place) ? probes_.reaches(peer.id, place.folder)
                                                         : std::optional{false};
    peer.mapping = reached.has_value() ? look_at_peer(options_.place, place, *reached)
                                       : Mapping::Unknown;  // Asked again with the next look.
  } else if (changed) {
    peer.mapping = Mapping::Unknown;
  }
  take_link(peer, choose(peer, said));
}

ResidentLink LinkKeeper::choose(const Peer& peer, const ResidentReady& said) const {
  if (peer.hello.has_value() && peer.says_hello) {
    const auto why = find_contradiction({options_.self, own_hello()}, {peer.id, *peer.hello});
    if (why.has_value()) {
      return refused(*why);
    }
  } else if (peer.says_hello && peer.hello_unread) {
    return refused(unread_hello(peer.id));
  } else if (peer.says_hello) {
    return {ResidentLinkKind::Undecided, "the node has not said how its lanes are laid out yet"};
  }
  return choose_resident_link({options_.self, options_.wish, mapping_of(peer)},
                              {peer.id, said.wish, said.mapping});
}

// What this node says of the mapping, and goes by itself.
Mapping LinkKeeper::mapping_of(const Peer& peer) const {
  const bool failed = peer.mapping == Mapping::Possible && peer.patience.gave_up_mapping();
  return failed ? Mapping::Failed : peer.mapping;
}

// A peer may change its mind as often as it likes; not every time is said.
void LinkKeeper::take_link(Peer& peer, const ResidentLink& link) {
  if (link.kind == peer.link.kind && link.why == peer.link.why) {
    return;
  }
  metrics_.changes.add();
  if (peer.link.kind != ResidentLinkKind::Undecided) {
    show_link(peer.id, peer.link, false);
  }
  peer.link = link;
  if (link.kind == ResidentLinkKind::Undecided) {
    return;
  }
  show_link(peer.id, link, true);
  if (peer.said.may_log(env_.now_ms())) {
    const std::uint64_t unsaid = peer.said.take_unsaid();
    const std::string more =
        unsaid == 0 ? "" : ", after " + std::to_string(unsaid) + " lines that were left out";
    if (link.kind == ResidentLinkKind::Refused) {
      log_warning(LogComponent::Links,
                  "the turn reaches node {} by no way: {}{}",
                  peer.id.value,
                  link.why,
                  more);
    } else {
      log_info(LogComponent::Links,
               "the turn reaches node {} {}: {}{}",
               peer.id.value,
               resident_link_kind_name(link.kind),
               link.why,
               more);
    }
  }
}

// What a peer said of its channel counts a while after this side joined: it may be older. A proxy
// of a greater epoch is news at any time.
void LinkKeeper::join_anew(Peer& peer, const ResidentReady& said) {
  const bool settled = env_.now_ms() >= peer.joined_ms + kSettleMs;
  const bool able = !runs() || !env_.disk_stands_still();
  if (peer.link.kind == ResidentLinkKind::Mapped && settled && able &&
      peer.patience.may_join(env_.now_ms())) {
    if (peer.patience.should_have_met(env_.now_ms())) {
      on_mapping_failed(peer, {StatusCode::DeadlineExceeded, "the nodes did not meet by sockets"});
    }
    join_.seek(peer.id, peer.place.folder);
  }
  const bool follows = peer.id < options_.self;
  // One that follows and had the epoch of this node's proxy would ask for a greater one. One that
  // had not is told of it again with what is said anyway. A mapping that the peer gave up waits for
  // nobody.
  const bool outdated = said.epoch == 0 &&
                        !netcore::is_later_epoch(said.epoch_next, env_.node.epoch(peer.id)) &&
                        way_to(peer.id) == ResidentLinkKind::Proxy;
  if (peer.link.kind == ResidentLinkKind::Proxy && (follows || (settled && !outdated))) {
    const bool proxied = said.way == ResidentLinkKind::Proxy;
    peer.proxy_epoch =
        proxy_epoch(options_.self,
                    peer.id,
                    {env_.node.epoch_next(peer.id), said.epoch_next, proxied ? said.epoch : 0});
  }
}

// Tried again, or given up for a proxy: the peer is told with what is said anyway.
void LinkKeeper::on_mapping_failed(Peer& peer, const Status& status) {
  metrics_.unmapped.add();
  peer.patience.on_mapping_failed(env_.now_ms());
  peer.joined_ms = env_.now_ms();
  peer.unmapped = status.to_string();
  if (peer.said.may_log(env_.now_ms())) {
    log_warning(LogComponent::Links, "node {} was not mapped: {}", peer.id.value, peer.unmapped);
  }
}

// Once a heartbeat came from a peer in this life, each has admitted the other. A channel carries
// votes past whoever judges directories, so nobody joins one with a peer before that. Not while the
// disk stands still, as with proxies.
Result<std::size_t> LinkKeeper::connect_found() {
  if (runs() && env_.disk_stands_still()) {
    return std::size_t{0};
  }
  auto found = join_.take();
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
    join_.seek(found->peer, peer->place.folder);
    return std::size_t{0};
  }
  GCOORD_TRY_STATUS(env_.while_quiesced([&] {
    const Status connected = connect(*found);
    if (is_device_fault(connected.detail())) {
      return connected;
    }
    if (!connected.ok()) {
      on_mapping_failed(*peer, connected);  // Sought again when it says that it is there.
    }
    return Status{};
  }));
  return std::size_t{1};
}

// As connect_found(), with those to whom a proxy is due. Whoever is not there yet says again that
// it has none. None is made while the disk stands still: a turn that goes on after a rest gives its
// host new patience, and with a rest for each silence it would lead for ever (fault 8 of
// docs/internals/faults.md).
Result<std::size_t> LinkKeeper::connect_proxies() {
  std::size_t made = 0;
  if (runs() && env_.disk_stands_still()) {
    return made;
  }
  for (Peer& peer : peers_) {
    if (!peer.patience.may_join(env_.now_ms())) {
      continue;
    }
    const std::uint32_t epoch = std::exchange(peer.proxy_epoch, 0);
    if (netcore::is_later_epoch(env_.node.epoch_next(peer.id), epoch) ||
        peer.heard_last == Tick{} || !env_.network.is_up(peer.id)) {
      continue;
    }
    GCOORD_TRY_STATUS(join_by_proxy(peer, epoch));
    say_ready(peer.id);
    ++made;
  }
  if (made != 0) {
    env_.network.flush();
  }
  return made;
}

// One that cannot be made is tried again when the peer speaks, after a while.
Status LinkKeeper::join_by_proxy(Peer& peer, std::uint32_t epoch) {
  return env_.while_quiesced([&] {
    const bool follows = peer.id < options_.self;
    const Status made = proxies_.connect(peer.id, epoch, follows);
    if (is_device_fault(made.detail())) {
      return made;
    }
    peer.joined_ms = env_.now_ms();
    if (made.ok()) {
      bells_.forget(peer.id);  // Of a mapping that was before.
      peer.patience.on_joined(env_.now_ms());
      peer.unproxied.clear();
    } else {
      metrics_.unproxied.add();
      peer.patience.on_join_failed(env_.now_ms());
      peer.unproxied = made.to_string();
      if (peer.said.may_log(env_.now_ms())) {
        log_warning(LogComponent::Links,
                    "no proxy to node {} could be made: {}",
                    peer.id.value,
                    peer.unproxied);
      }
    }
    return Status{};
  });
}

// For the operator, behind what is said of a peer without a channel.
std::string LinkKeeper::reason_of_none(const Peer& peer) {
  const std::string& mapped = peer.unmapped;
  const std::string& why = peer.link.kind == ResidentLinkKind::Mapped ? mapped : peer.unproxied;
  return why.empty() ? "" : ", or to be joined again after: " + why;
}

Status LinkKeeper::connect(ResidentJoin::Found& found) {
  netcore::GpuNvlinkOptions options;
  options.cluster = options_.cluster;
  options.self = options_.self;
  options.peer = found.peer;
  options.layout = env_.node.channel_layout();
  options.epoch_min = env_.node.epoch_next(found.peer);
  options.timeout_ms = kHandshakeMs;
  GCOORD_TRY(auto channel, netcore::join_gpu_nvlink(env_.node.registry(), found.socket, options));
  env_.node.connect(found.peer, std::move(channel));
  if (!options_.on_gpu) {
    bells_.keep(found.peer, std::move(found.socket));
  }
  if (Peer* const peer = find_peer(found.peer)) {
    peer->joined_ms = env_.now_ms();
    peer->patience.on_mapped();
    peer->patience.on_joined(env_.now_ms());
    peer->unmapped.clear();
    peer->unproxied.clear();
  }
  return {};
}

// One for each way that was ever chosen, of which there are few: of a refusal with numbers that the
// peer chose only the kind. 1 for the one in force.
void LinkKeeper::show_link(NodeId peer, const ResidentLink& link, bool in_use) {
  const std::string why = link.code == 0 ? link.why : "GC" + std::to_string(link.code);
  const std::string way = "node " + std::to_string(peer.value) + ": " +
                          std::string{resident_link_kind_name(link.kind)} + ", " + why;
  env_.registry
      .gauge({"gcoord_server_resident_link",
              "By what way the turn reaches a peer, and why: 1 for the one in force.",
              "way",
              way})
      .set(in_use ? 1 : 0);
}

const LinkKeeper::Peer* LinkKeeper::find_peer(NodeId id) const {
  const auto peer =
      std::find_if(peers_.begin(), peers_.end(), [id](const Peer& each) { return each.id == id; });
  return peer != peers_.end() ? &*peer : nullptr;
}

LinkKeeper::Peer* LinkKeeper::find_peer(NodeId id) {
  return const_cast<Peer*>(std::as_const(*this).find_peer(id));
}

std::string LinkKeeper::channel_text(NodeId peer) const {
  const Peer* const known = find_peer(peer);
  if (known == nullptr) {
    return {};
  }
  const ResidentLink& link = known->link;
  if (link.kind == ResidentLinkKind::Refused) {
    return "refused: " + link.why;
  }
  if (!runs()) {
    return "none yet: waits until all nodes have met";
  }
  const netcore::DropReason fault = env_.node.fault(peer);
  if (fault != netcore::DropReason::None) {
    return "given up: " + std::string(netcore::drop_reason_name(fault));
  }
  switch (way_to(peer)) {
    case ResidentLinkKind::Proxy:
      return "proxy: the hosts move messages over the peer transport; " + link.why +
             (known->unmapped.empty() ? "" : ": " + known->unmapped);
    case ResidentLinkKind::Mapped:
      return (options_.on_gpu ? "nvlink: mapped device memory, in use by the turn; "
                              : "shared memory of this host, in use by the twin; ") +
             link.why;
    default:
      return "none: waits for the node to start" + reason_of_none(*known);
  }
}

}  // namespace gcoord::server
