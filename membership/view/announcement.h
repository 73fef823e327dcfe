// Announcement of a node to its peers, again and again: the view that it has, the settings that it
// was started with, and where it is.
//
// It travels behind the features of the node (server/peers/node_features.h); earlier releases do
// not look there. Bytes: version 1, epoch 8, settings 28, then the node as in a view; behind them,
// where it is known, how far the shards have come that the node leads: version 2, epoch 8, led 4,
// settled 4, ready 4. Pure functions; thread-safe.
#pragma once

#include "membership/view/table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::membership {

// How far the shards that a node leads have come with a view
// (server/interfaces/cluster_members.h).
struct ShardProgress {
  std::uint64_t epoch = 0;  // Of the view that it is about.
  std::uint32_t led = 0;
  std::uint32_t settled = 0;
  std::uint32_t ready = 0;

  friend bool operator==(const ShardProgress& a, const ShardProgress& b) = default;
};

struct ViewAnnouncement {
  std::uint64_t epoch = 0;
  ViewSettings settings;
  Member self;                            // Without role, state and weight.
  std::optional<ShardProgress> progress;  // None: of an earlier release.

  friend bool operator==(const ViewAnnouncement& a, const ViewAnnouncement& b) = default;
};

std::vector<std::byte> encode_announcement(const ViewAnnouncement& said);

// Nothing for bytes that no node sends. A later release may say more behind them.
std::optional<ViewAnnouncement> decode_announcement(std::span<const std::byte> bytes);

}  // namespace gcoord::membership
