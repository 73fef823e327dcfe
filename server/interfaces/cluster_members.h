// Members of the cluster, for every part of a node that addresses or counts its nodes.
//
// Before view 1 it is the fixed list (--peer) with epoch 0. A value; pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/random.h"
#include "protocol/members/cluster_view.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

// The shard whose log orders the views.
inline constexpr ShardId kViewShard{0};

struct ClusterMembers {
  protocol::ClusterView view;
  // Voters of earlier views that some node may still go by, newest first: whoever asks a majority
  // asks a majority of each of them, too. Empty: every node is known to have the view.
  std::vector<std::vector<NodeId>> earlier_voters;

  friend bool operator==(const ClusterMembers& a, const ClusterMembers& b) = default;
};

// How far the shards that a node leads have come with a view.
struct MembersProgress {
  std::uint64_t epoch = 0;    // Of the view that the counts are for.
  std::uint32_t led = 0;      // Shards led here,
  std::uint32_t settled = 0;  // of them with the configuration that the view wants, decided,
  std::uint32_t ready = 0;    // and of them where every joining node has the log.
  // Sums of progress_mark(): of the settled ones, and of all shards, whoever leads them. Two nodes
  // may hold one shard to be theirs while nobody leads another one, and the counts would be right.
  std::uint64_t settled_sum = 0;
  std::uint64_t all_sum = 0;  // 0: not known.

  friend bool operator==(const MembersProgress& a, const MembersProgress& b) = default;
};

// Random-looking, so that two lists of shards of one length and one sum are the same shards.
inline std::uint64_t progress_mark(ShardId shard) {
  return mix64(std::uint64_t{shard.value} + 1);
}

// The nodes of the view that count in majorities, ascending: voters and witnesses that are active,
// draining or leaving. A joining node does not count yet.
std::vector<NodeId> voters_of(const protocol::ClusterView& view);

// Those of them that have the services' state and may lead: all but witnesses.
std::vector<NodeId> voters_with_state(const protocol::ClusterView& view);

// The nodes that there are processes of, ascending: neither removed nor invited for the
// first time (protocol::view_nodes).
std::vector<NodeId> nodes_of(const protocol::ClusterView& view);

// Whether the node was in the cluster and is not any more: its tombstone says so, or it has none
// left though the view had higher ids since. Of a view of epoch 0: nobody has.
bool has_left(const protocol::ClusterView& view, NodeId node);

}  // namespace gcoord::server
