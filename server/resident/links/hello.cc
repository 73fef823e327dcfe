#include "server/resident/links/hello.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace gcoord::server {
namespace {

// As it travels.
struct Wire {
  std::byte kind = kLinkHelloKind;
  std::byte reserved{};
  std::uint16_t layout_min = 0;
  std::uint16_t layout_max = 0;
  std::uint16_t voters = 0;
  std::uint32_t stripes = 0;
  std::uint32_t ring_slots = 0;
  std::uint32_t entries_max = 0;
  std::uint32_t log_slots = 0;
  std::uint64_t features = 0;
  std::uint64_t used = 0;
};

static_assert(sizeof(Wire) == kLinkHelloBytes);

std::string name_of(NodeId node) {
  return "node " + std::to_string(node.value);
}

std::string versions_of(const LinkHello& hello) {
  const std::string first = std::to_string(hello.layout_min);
  return hello.layout_min == hello.layout_max ? first
                                              : first + " to " + std::to_string(hello.layout_max);
}

std::string layout_of(const LinkHello& hello) {
  return std::to_string(hello.voters) + " voters, " + std::to_string(hello.stripes) +
         " thread groups, rings of " + std::to_string(hello.ring_slots) + ", " +
         std::to_string(hello.entries_max) + " entries a message, logs of " +
         std::to_string(hello.log_slots);
}

bool same_layout(const LinkHello& a, const LinkHello& b) {
  return a.voters == b.voters && a.stripes == b.stripes && a.ring_slots == b.ring_slots &&
         a.entries_max == b.entries_max && a.log_slots == b.log_slots;
}

std::string bits_of(std::uint64_t features) {
  std::string text;
  for (; features != 0; features &= features - 1) {
    text += (text.empty() ? "" : ", ") + std::to_string(std::countr_zero(features));
  }
  return text;
}

LinkContradiction contradiction(std::uint32_t code, const std::string& text) {
  return {code, text + " (GC" + std::to_string(code) + ")"};
}

std::string lacks(NodeId node, std::uint64_t missing, NodeId user) {
  return name_of(node) + " lacks the features of bits " + bits_of(missing) +
         ", which entries in the log of " + name_of(user) + " use";
}

}  // namespace

LinkHello own_link_hello(const TurnShape& shape, std::uint32_t ring_slots, std::uint64_t features) {
  return {.voters = static_cast<std::uint16_t>(shape.voters),
          .stripes = shape.stripe_count,
          .ring_slots = ring_slots,
          .entries_max = shape.entries_max,
          .log_slots = shape.log_slots,
          .features = features};
}

LinkHelloBytes write_link_hello(const LinkHello& hello) {
  Wire wire;
  wire.layout_min = hello.layout_min;
  wire.layout_max = hello.layout_max;
  wire.voters = hello.voters;
  wire.stripes = hello.stripes;
  wire.ring_slots = hello.ring_slots;
  wire.entries_max = hello.entries_max;
  wire.log_slots = hello.log_slots;
  wire.features = hello.features;
  wire.used = hello.used;
  LinkHelloBytes bytes;
  std::memcpy(bytes.data(), &wire, sizeof wire);
  return bytes;
}

bool is_link_hello(std::span<const std::byte> message) {
  return !message.empty() && message.front() == kLinkHelloKind;
}

std::optional<LinkHello> read_link_hello(std::span<const std::byte> message) {
  if (message.size() < kLinkHelloBytes || message.front() != kLinkHelloKind) {
    return std::nullopt;
  }
  Wire wire;
  std::memcpy(&wire, message.data(), sizeof wire);
  const bool meant = wire.layout_min != 0 && wire.layout_min <= wire.layout_max &&
                     (wire.used & ~wire.features) == 0;
  if (!meant) {
    return std::nullopt;
  }
  return LinkHello{.layout_min = wire.layout_min,
                   .layout_max = wire.layout_max,
                   .voters = wire.voters,
                   .stripes = wire.stripes,
                   .ring_slots = wire.ring_slots,
                   .entries_max = wire.entries_max,
                   .log_slots = wire.log_slots,
                   .features = wire.features,
                   .used = wire.used};
}

std::optional<LinkContradiction> find_contradiction(const NodeHello& own, const NodeHello& peer) {
  const LinkHello& a = own.hello;
  const LinkHello& b = peer.hello;
  const std::string both = name_of(own.node) + " and " + name_of(peer.node);
  if (std::max(a.layout_min, b.layout_min) > std::min(a.layout_max, b.layout_max)) {
    return contradiction(kLinkLayoutUnknown,
                         both + " speak layout versions " + versions_of(a) + " and " +
                             versions_of(b) + ": upgrade by way of a release that speaks both");
  }
  if (!same_layout(a, b)) {
    return contradiction(
        kLinkLayoutDiffers,
        both + " lay out their lanes otherwise: " + layout_of(a) + "; " + layout_of(b));
  }
  if (const std::uint64_t missing = a.used & ~b.features; missing != 0) {
    return contradiction(kLinkFeatureUsed, lacks(peer.node, missing, own.node));
  }
  if (const std::uint64_t missing = b.used & ~a.features; missing != 0) {
    return contradiction(kLinkFeatureUsed, lacks(own.node, missing, peer.node));
  }
  return std::nullopt;
}

LinkContradiction unread_hello(NodeId peer) {
  return contradiction(kLinkLayoutUnknown,
                       "what " + name_of(peer) + " says of its lanes cannot be read");
}

}  // namespace gcoord::server
