#include "server/detector/node_detector.h"

#include "common/incarnation.h"
#include "server/platform/operator_log.h"
#include "server/platform/system_random.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::server {

namespace {

using membership::DetectorMessage;
using membership::DeviceHealth;
using membership::Mark;
using membership::MessageFault;
using membership::NodeSight;
using membership::Verdict;
using membership::WatchedNode;

// Between two looks at the channels, each of which copies their states. Whatever wakes the loop, a
// channel that ended among others, is followed by one.
constexpr std::uint64_t kLookMs = 5;
constexpr std::uint64_t kShowMs = 200;

// Where processes are that fail together: the label "host", or the host of the address.
std::string host_of(const protocol::Member& node, const std::string& address_host) {
  const auto label = std::ranges::find(node.labels, "host", &protocol::MemberLabel::key);
  return label == node.labels.end() ? address_host : label->value;
}

DeviceHealth device_of(const NodeView& view) {
  return view.stepper.name.starts_with("cuda") ? DeviceHealth::Works : DeviceHealth::None;
}

membership::DetectorOptions detector_options(const NodeDetectorOptions& options,
                                             Incarnation incarnation) {
  return {.self = options.self,
          .incarnation = incarnation,
          .evidence = options.evidence,
          .probe_interval_ms = options.probe_interval_ms,
          .seed = draw_random()};
}

}  // namespace

NodeDetector::NodeDetector(NodeDetectorOptions options, Environment environment)
    : options_(std::move(options)),
      environment_(std::move(environment)),
      detector_(std::make_unique<membership::Detector>(
          detector_options(options_, environment_.log.incarnation()))),
      keys_(datagram_keys(options_.cluster, nullptr, false)),
      metrics_(environment_.metrics, options_.speaks_for_turn),
      alarms_(options_.alarms) {
  open_socket();
}

void NodeDetector::open_socket() {
  const std::uint16_t port = environment_.log.listen_port();
  auto opened = DatagramSocket::open(options_.listen_host, port);
  if (!opened.ok()) {
    log_warning(LogComponent::Peers,
                "no datagrams for failure detection, heartbeats alone count: {}",
                opened.status().message());
    return;
  }
  socket_ = std::move(opened).value();
  detector_->set_socket(true);
  if (socket_->port() != port) {
    log_warning(LogComponent::Peers,
                "datagrams for failure detection go to UDP port {}, because {} is taken; the other "
                "nodes learn it from this one's",
                socket_->port(),
                port);
  }
}

// A busy loop comes by many times in a millisecond, and each look at the socket is three calls of
// the system.
void NodeDetector::advance(std::uint64_t now_ms) {
  if (has_nodes_ && now_ms <= now_ms_) {
    look_owed_ = true;
    return;
  }
  now_ms_ = std::max(now_ms_, now_ms);
  take_nodes();
  receive();  // What a process sent before it ended is no answer to the end of its channel.
  look_at_channels();
  detector_->advance(now_ms_);
  send_all();
  propose_marks();
  show();
}

void NodeDetector::take_nodes() {
  const protocol::ClusterView& view = environment_.view();
  if (has_nodes_ && view.epoch == epoch_) {
    return;
  }
  has_nodes_ = true;
  epoch_ = view.epoch;
  std::map<NodeId, std::string> addresses = options_.peers;
  if (view.epoch > 0) {
    addresses.clear();
    for (const NodeId id : nodes_of(view)) {
      const std::string& known = protocol::find_member(view, id)->peer_address;
      const auto listed = options_.peers.find(id);
      addresses[id] = known.empty() && listed != options_.peers.end() ? listed->second : known;
    }
    addresses.erase(options_.self);
  }
  endpoints_.set(addresses);
  std::vector<WatchedNode> nodes;
  for (const auto& [id, address] : addresses) {
    const protocol::Member* const member = protocol::find_member(view, id);
    const std::string host = endpoints_.host_of(id);
    nodes.push_back({id, member == nullptr ? host : host_of(*member, host)});
  }
  detector_->set_nodes(nodes, now_ms_);
  metrics_.set_nodes(nodes);
  for (const protocol::Member& member : view.nodes) {
    metrics_.show_mark(member.id, member.suspect);
  }
}

void NodeDetector::look_at_channels() {
  look_owed_ = now_ms_ < next_look_ms_;
  if (look_owed_) {
    return;
  }
  next_look_ms_ = now_ms_ + kLookMs;
  const NodeView view = environment_.log.view();
  detector_->set_own_device(device_of(view));
  detector_->set_decider(environment_.log.view(kViewShard).leader);
  for (const NodePeerView& peer : view.peers) {
    Channel& channel = channels_[peer.link.id];
    if (peer.heard != channel.heard && peer.link.incarnation.value != 0) {
      detector_->on_heartbeat(peer.link.id, peer.link.incarnation, now_ms_);
    }
    const bool up = peer.link.state == netcore::LinkState::Up;
    if (channel.up && !up) {
      detector_->on_channel_ended(peer.link.id, now_ms_);
    }
    channel = {peer.heard, up};
  }
}

void NodeDetector::receive() {
  endpoints_.advance(now_ms_);
  if (socket_ == nullptr) {
    return;
  }
  socket_->receive(
      membership::kMessageBytesMax,
      [this](const netcore::SocketAddress& from, std::span<const std::byte> bytes) {
        on_datagram(from, bytes);
      },
      [this](const netcore::SocketAddress& to) {
        const NodeId node = endpoints_.node_at(to);
        if (node.value != 0) {
          detector_->on_refused(node, now_ms_);
        }
      });
}

void NodeDetector::on_datagram(const netcore::SocketAddress& from,
                               std::span<const std::byte> bytes) {
  const membership::DecodedMessage decoded =
      membership::decode_message(bytes, {options_.cluster, options_.self}, keys_.taken());
  if (decoded.fault != MessageFault::None) {
    metrics_.on_dropped(decoded.fault);
    return;
  }
  if (!detector_->on_message(decoded.message, now_ms_)) {
    metrics_.on_stranger();
    return;
  }
  keys_.hear(decoded.message.from, decoded.key);
  metrics_.on_received(decoded.message.from, bytes.size());
  const DetectorMessage& message = decoded.message;
  if (!endpoints_.hear(message.from, from)) {
    metrics_.on_elsewhere();
  } else if (message.kind == membership::MessageKind::Ack) {
    endpoints_.learn(message.from, from, message.sequence);
  }
}

void NodeDetector::send_all() {
  for (const DetectorMessage& message : detector_->take_outgoing()) {
    const netcore::SocketAddress* const to = endpoints_.find(message.to);
    if (socket_ == nullptr || to == nullptr) {
      continue;
    }
    const auto bytes = membership::encode_message(message, options_.cluster, keys_.of(message.to));
    if (message.kind == membership::MessageKind::Ping) {
      endpoints_.ask(message.to, message.sequence);
    }
    if (const netcore::SocketAddress* const other = endpoints_.find_other(message.to);
        other != nullptr && socket_->send(socket_->mapped(*other), bytes)) {
      metrics_.on_sent(bytes.size());
    }
    if (socket_->send(socket_->mapped(*to), bytes)) {
      metrics_.on_sent(bytes.size());
    } else {
      metrics_.on_unsent();
    }
  }
}

void NodeDetector::propose_marks() {
  const protocol::ClusterView& view = environment_.view();
  const bool leads = environment_.log.view(kViewShard).role == consensus::Role::Leader;
  if (!leads || view.epoch == 0 || !environment_.propose_suspect) {
    marks_.rest();
    return;
  }
  std::vector<Mark> marks;
  for (const NodeId id : nodes_of(view)) {
    marks.push_back({id, protocol::find_member(view, id)->suspect});
  }
  for (const Mark& mark : marks_.decide(marks, *detector_, now_ms_)) {
    environment_.propose_suspect(mark.node, mark.suspect);
    metrics_.on_proposal();
  }
}

void NodeDetector::show() {
  if (now_ms_ < next_show_ms_) {
    return;
  }
  next_show_ms_ = now_ms_ + kShowMs;
  metrics_.show(detector_->sights(now_ms_), detector_->counts());
  metrics_.show_health(detector_->local_health().score());
  alarms_.refresh(environment_.view(), now_ms_, environment_.wall_ms());
  metrics_.show_alarms(alarms_.armed_count());
}

std::uint64_t NodeDetector::until_next_deadline_ms() const {
  const std::uint64_t next = std::min({detector_->next_deadline_ms(),
                                       marks_.next_deadline_ms(),
                                       look_owed_ ? next_look_ms_ : ~std::uint64_t{0}});
  return next - std::min(next, now_ms_);
}

void NodeDetector::on_device_failed() {
  detector_->set_own_device(DeviceHealth::Stopped);
  for (const NodeSight& sight : detector_->sights(now_ms_)) {
    const netcore::SocketAddress* const to = endpoints_.find(sight.node);
    if (socket_ == nullptr || to == nullptr) {
      continue;
    }
    const DetectorMessage last{.device = DeviceHealth::Stopped,
                               .from = options_.self,
                               .to = sight.node,
                               .incarnation = environment_.log.incarnation(),
                               .about = {},
                               .opinions = {}};
    socket_->send(socket_->mapped(*to),
                  membership::encode_message(last, options_.cluster, keys_.of(sight.node)));
  }
}

}  // namespace gcoord::server
