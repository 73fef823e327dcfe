// The shape of a resident node by its options, and how its host shares the work on the lanes.
//
// Plain functions; thread-safe.
#pragma once

#include "server/device_turn/view.h"
#include "server/replicas/options.h"

#include <cstdint>

namespace gcoord::server {

// The most that the tables of a resident node are sized for, over all stripes.
inline constexpr std::uint32_t kResidentLocksMax = 1u << 20;

TurnShape resident_shape(const ReplicaOptions& options);

// How many neighbouring shards a thread of the host's follows, whole lanes of them, where
// ReplicaOptions::turn_threads asks for several; 0: the loop follows all of them alone.
std::uint32_t resident_part_shards(const ReplicaOptions& options);

}  // namespace gcoord::server
