// The identifiers that every floor shares. Units and ranges are part of the meaning.
#pragma once

#include "common/strong_id.h"

#include <cstdint>

namespace gcoord {

// Number of a shard: dense, 0 <= shard < shard_count of the cluster. In which row a node keeps it
// says a row map (consensus/step/row_map.h).
using ShardId = StrongId<struct ShardIdTag, std::uint32_t>;

// Number of a node in its cluster, chosen by the operator, 1 to 65,535. 0 means "no node".
using NodeId = StrongId<struct NodeIdTag, std::uint32_t>;

// Which data directory of the node, and its how manieth start (incarnation.h). Persisted before
// use, so two starts of a node never share one. 0 means "never heard of".
using Incarnation = StrongId<struct IncarnationTag, std::uint32_t>;

// Raft term. 0 is before the first campaign.
using Term = StrongId<struct TermTag, std::uint64_t>;

// Position in a shard's log. The first entry has index 1; 0 means "before the log".
using LogIndex = StrongId<struct LogIndexTag, std::uint64_t>;

// Logical time of one node since its process began; its length is the cluster-wide option tick_ms.
using Tick = StrongId<struct TickTag, std::uint64_t>;

// A tick that never comes: the deadline of a row without a timer.
inline constexpr Tick kTickNever{~std::uint64_t{0}};

// Chosen once when a cluster is created; nodes of different clusters refuse each other. 0 is never
// valid.
using ClusterId = StrongId<struct ClusterIdTag, std::uint64_t>;

// A client session, unique in its cluster for ever: node id, incarnation and a counter. 0 means "no
// session".
using SessionId = StrongId<struct SessionIdTag, std::uint64_t>;

// Number of a request within its session; rises from 1. A retry repeats it.
using RequestSequence = StrongId<struct RequestSequenceTag, std::uint64_t>;

// Rises with every grant of one lock name, for ever; guards resources against holders of the past.
// 0 is never granted.
using FencingToken = StrongId<struct FencingTokenTag, std::uint64_t>;

}  // namespace gcoord
