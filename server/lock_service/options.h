// The settings of a node's lock service: the cluster it serves, its time, its limits.
//
// Plain value; no thread rules.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "protocol/validate.h"
#include "server/peers/coordinator_driver.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace gcoord::server {

struct LockServiceOptions {
  NodeId node;
  std::vector<NodeId> nodes;  // All of the cluster, this one too.
  std::uint32_t tick_ms = 10;
  std::uint64_t election_ticks = 100;
  protocol::RequestLimits limits;       // Of requests; shard_count is the cluster's.
  locks::LockLimits caps;               // Of the tables.
  std::uint32_t session_locks_max = 0;  // See session_quota.h; 0: no limit.
  std::uint64_t index_seed = 0;
  // Whether the node's disk has no room for more (space_admission.h); any thread. Empty: never.
  std::function<bool()> disk_is_low;
  std::function<bool()> drains;  // Whether the node gives its leaderships away; empty: never.
  // Unix milliseconds, for the records in the log; empty: they say no time.
  std::function<std::uint64_t()> wall_ms;
  std::uint32_t slow_request_ms = 0;          // See SlowRequests; 0: none is slow.
  std::uint32_t deadlock_interval_ms = 1000;  // 0: deadlocks are not looked for.
  CoordinatorMethod coordinator = CoordinatorMethod::Raft;
  bool witness = false;    // The node has no state of its own (server/witness).
  bool on_device = false;  // The shards are on the node's device (server/resident).
  // Of a node on a device whose tables threads follow by parts (resident_part_shards); 0: one part.
  std::uint32_t part_shards = 0;
};

}  // namespace gcoord::server
