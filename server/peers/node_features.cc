#include "server/peers/node_features.h"

#include "common/assert.h"

#include <algorithm>
#include <cstring>

namespace gcoord::server {

namespace {

constexpr std::uint64_t kAnnouncedEveryMs = 1000;

// As it travels. A later release may say more behind it.
struct Announcement {
  std::byte kind = kNodeFeaturesKind;
  std::byte state{};  // Earlier releases say 0 and do not look.
  std::byte reserved[2]{};
  std::uint32_t incarnation = 0;
  std::uint64_t features = 0;
};

static_assert(sizeof(Announcement) == 16);

// Bits of the state; never renumber.
constexpr std::byte kDiskIsLow{1};
constexpr std::byte kDrains{2};  // Earlier releases do not look, and hand over what is given on.

bool holds(const std::function<bool()>& asked) {
  return asked && asked();
}

}  // namespace

NodeFeatures::NodeFeatures(const NodeFeaturesOptions& options) : options_(options) {
  set_nodes(options.nodes);
}

void NodeFeatures::set_nodes(std::span<const NodeId> nodes) {
  std::vector<Node> others;
  for (const NodeId id : nodes) {
    if (id != options_.node) {
      const auto known = std::ranges::find(others_, id, &Node::id);
      others.push_back(known == others_.end() ? Node{.id = id} : *known);
    }
  }
  others_ = std::move(others);
  if (engine_ != nullptr) {
    look();
  }
}

void NodeFeatures::start(ReplicatedLog& engine, Incarnation incarnation) {
  engine_ = &engine;
  incarnation_ = incarnation;
  common_ = others_.empty() ? options_.features : 0;
}

void NodeFeatures::on_tick(Tick now) {
  GCOORD_ASSERT(engine_ != nullptr);
  if (now < next_ || others_.empty()) {
    return;
  }
  next_ = now + std::max<std::uint64_t>(1, kAnnouncedEveryMs / options_.tick_ms);
  announce();
  look();
}

// Messages to peers may be lost, so it is said again and again.
void NodeFeatures::announce() {
  Announcement said;
  said.features = options_.features;
  said.incarnation = incarnation_.value;
  said.state = (holds(options_.disk_is_low) ? kDiskIsLow : std::byte{}) |
               (holds(options_.drains) ? kDrains : std::byte{});
  std::vector<std::byte> message(sizeof(said));
  std::memcpy(message.data(), &said, sizeof(said));
  if (words_.say) {
    const std::vector<std::byte> words = words_.say();
    GCOORD_ASSERT(words.size() <= kNodeWordBytesMax);
    message.insert(message.end(), words.begin(), words.end());
  }
  for (const Node& node : others_) {
    engine_->send_peer_message(node.id, message);
  }
}

// What a life said is forgotten when another one has greeted.
void NodeFeatures::look() {
  const NodeView view = engine_->view();
  common_ = options_.features;
  for (Node& node : others_) {
    const auto peer = std::ranges::find(
        view.peers, node.id, [](const NodePeerView& each) { return each.link.id; });
    const bool other_life = peer != view.peers.end() && peer->link.incarnation.value != 0 &&
                            peer->link.incarnation != node.incarnation;
    if (other_life) {
      node.features = 0;
      node.disk_is_low = false;
      node.drains = false;
    }
    common_ &= node.features;
  }
}

bool NodeFeatures::has(NodeId node, protocol::Feature feature) const {
  const auto found = std::ranges::find(others_, node, &Node::id);
  return found != others_.end() && (found->features & static_cast<std::uint64_t>(feature)) != 0;
}

bool NodeFeatures::disk_is_low(NodeId node) const {
  const auto found = std::ranges::find(others_, node, &Node::id);
  return found != others_.end() && found->disk_is_low;
}

bool NodeFeatures::drains(NodeId node) const {
  const auto found = std::ranges::find(others_, node, &Node::id);
  return found != others_.end() && found->drains;
}

bool NodeFeatures::is_ours(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kNodeFeaturesKind;
}

bool NodeFeatures::on_message(NodeId from, std::span<const std::byte> message) {
  const auto node = std::ranges::find(others_, from, &Node::id);
  if (message.size() < sizeof(Announcement) || node == others_.end()) {
    return false;
  }
  Announcement said;
  std::memcpy(&said, message.data(), sizeof(said));
  if (said.kind != kNodeFeaturesKind || said.incarnation == 0) {
    return false;
  }
  node->features = said.features;
  node->disk_is_low = (said.state & kDiskIsLow) != std::byte{};
  node->drains = (said.state & kDrains) != std::byte{};
  node->incarnation = Incarnation{said.incarnation};
  if (words_.hear) {
    words_.hear(from, node->incarnation, message.subspan(sizeof said));
  }
  look();
  return true;
}

}  // namespace gcoord::server
