// Announcement of a node to its peers, again and again: the view that it has, the settings that it
// was started with, and where it is.
//
// It travels behind the features of the node (server/peers/node_features.h); earlier releases do
// not look there. Bytes: version 1, epoch 8, settings 28, then the node as in a view; behind them,
// where it is known, how far the shards have come that the node leads: version 2, epoch 8, led 4,
// settled 4, ready 4; behind that, where there is room, others of the view, those that came last
// first: version 3, count 1, then id 4 and the address as a text of each. Between the two, which
// shards those settled ones are: version 4, sum 8. Pure functions;
// thread-safe.
#pragma once

#include "membership/view/table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::membership {

// How far the shards that a node leads have come with a view
// (server/interfaces/cluster_members.h).
struct ShardProgress {
  std::uint64_t epoch = 0;  // Of the view that it is about.
  std::uint32_t led = 0;
  std::uint32_t settled = 0;
  std::uint32_t ready = 0;
  std::optional<std::uint64_t> settled_sum = {};  // None: of an earlier release.

  friend bool operator==(const ShardProgress& a, const ShardProgress& b) = default;
};

// Another node of the view, for whoever has an earlier one and does not know it: the leader of
// shard 0 may be among those, and only its log has the view.
struct Acquaintance {
  NodeId node;
  std::string peer_address;  // Empty: it is not called, it calls.

  friend bool operator==(const Acquaintance& a, const Acquaintance& b) = default;
};

inline constexpr std::size_t kAcquaintancesMax = 16;

// Of an announcement with others; what does not fit is left out.
inline constexpr std::size_t kAnnouncementBytesMax = 2048;

struct ViewAnnouncement {
  std::uint64_t epoch = 0;
  ViewSettings settings;
  Member self;                            // Without role, state and weight.
  std::optional<ShardProgress> progress;  // None: of an earlier release.
  std::vector<Acquaintance> others;  // At most kAcquaintancesMax; empty: of an earlier release.

  friend bool operator==(const ViewAnnouncement& a, const ViewAnnouncement& b) = default;
};

std::vector<std::byte> encode_announcement(const ViewAnnouncement& said);

// Nothing for bytes that no node sends. A later release may say more behind them.
std::optional<ViewAnnouncement> decode_announcement(std::span<const std::byte> bytes);

}  // namespace gcoord::membership
