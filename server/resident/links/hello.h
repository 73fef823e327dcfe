// The hello of a link between resident nodes: how the sender's device lays out lanes and messages,
// which features it has, and which of them its entries use already; and whether two such nodes can
// speak.
//
//   kind 11 | 0 | least 2 | greatest 2 | voters 2 | stripes 4 | ring slots 4 | entries 4 | log
//   slots 4 | features 8 | used 8
//
// Little-endian; never renumber; a later release may say more behind it. A device reads what its
// peer's device wrote by constants of its code, so two that were cut otherwise would take each
// other's messages for garbage, or, worse, for others. Hence no link is made before both hellos are
// known, unless the peer is of a release that says none: all of those have version 1.
//
// The rule of upgrades: whatever changes the bytes or the meaning of slots, lanes, entries or
// states between devices either stands behind a feature that all nodes have
// (server/peers/node_features.h) or is another version of the layout. A release that speaks a new
// version speaks the one before, too, and begins with what its directory's cluster has. Pure.
#pragma once

#include "common/ids.h"
#include "server/device_turn/view.h"
#include "server/interfaces/errors.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gcoord::server {

// Owned by nobody else of the messages between nodes.
inline constexpr std::byte kLinkHelloKind{11};
inline constexpr std::size_t kLinkHelloBytes = 40;

// Versions of the layout that this release speaks. 1: what nodes have since docs/adr/0068.
inline constexpr std::uint16_t kLinkLayoutMin = 1;
inline constexpr std::uint16_t kLinkLayoutMax = 1;

struct LinkHello {
  std::uint16_t layout_min = kLinkLayoutMin;
  std::uint16_t layout_max = kLinkLayoutMax;
  std::uint16_t voters = 0;
  std::uint32_t stripes = 0;      // Lanes of a channel.
  std::uint32_t ring_slots = 0;   // Of a lane.
  std::uint32_t entries_max = 0;  // Of one Append.
  std::uint32_t log_slots = 0;    // Of a row.
  std::uint64_t features = 0;     // protocol::Feature, of the node.
  std::uint64_t used = 0;         // Of them: what entries of its rows use, for good.

  friend bool operator==(const LinkHello& a, const LinkHello& b) = default;
};

// Of a node of this release.
LinkHello own_link_hello(const TurnShape& shape, std::uint32_t ring_slots, std::uint64_t features);

using LinkHelloBytes = std::array<std::byte, kLinkHelloBytes>;

LinkHelloBytes write_link_hello(const LinkHello& hello);

// Whether it means to be one.
bool is_link_hello(std::span<const std::byte> message);

// Nothing: it is none, or says what no node says.
std::optional<LinkHello> read_link_hello(std::span<const std::byte> message);

// Numbers of docs/reference/errors.md.
inline constexpr std::uint32_t kLinkLayoutUnknown =
    detail_of(protocol::ErrorCode::LinkLayoutUnknown);
inline constexpr std::uint32_t kLinkLayoutDiffers =
    detail_of(protocol::ErrorCode::LinkLayoutDiffers);
inline constexpr std::uint32_t kLinkFeatureUsed = detail_of(protocol::ErrorCode::LinkFeatureUsed);

// Why two nodes cannot speak.
struct LinkContradiction {
  std::uint32_t code = 0;  // One of them.
  std::string text;        // For the operator, with the code.
};

// Who said it.
struct NodeHello {
  NodeId node;
  LinkHello hello;
};

// Nothing: they can. The same code whichever end is `own`.
std::optional<LinkContradiction> find_contradiction(const NodeHello& own, const NodeHello& peer);

// Of a peer whose hello read_link_hello() does not read.
LinkContradiction unread_hello(NodeId peer);

}  // namespace gcoord::server
