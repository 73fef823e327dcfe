// Header before a service's state where a node keeps the history of its shards: the number of
// applied entries and, in what goes to another node, the frontier of the shard's Merkle tree.
//
//   version 1, kind 1 (0: checkpoint, 1: snapshot), reserved 2, entry count 4, size 8
//   of a snapshot: the frontier's size 8, its peaks 32 each, then per entry length 4 and bytes
//   then the service's own
//
// Behind those of shard 0 stands the state of the cluster log, and its length 4
// (publication_service.h); and behind that, once there is one, the cluster view's
// (membership/view/part.h), then that of users and roles (security/roles/part.h), and then that of
// limits (security/limits/part.h). The wrapping services write and read all this while a node runs;
// here it is for whoever has the bytes and no node. Bytes without any of it are a lock snapshot
// alone, whose magic cannot be taken for a head. Pure; thread-safe.
#pragma once

#include "ledger/snapshot/format.h"
#include "membership/view/cpu.h"
#include "security/limits/limit_cpu.h"
#include "security/roles/role_cpu.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// The service's own bytes, whatever stands around them. Nothing for what no node writes.
std::optional<std::span<const std::byte>> service_part(ShardId shard,
                                                       std::span<const std::byte> stored);

// The state of the cluster view, as ViewCpu::serialize gives it; empty where there is none. Nothing
// for what no node writes.
std::optional<std::span<const std::byte>> view_part(ShardId shard,
                                                    std::span<const std::byte> stored);

// The same of users and roles, as AccessCpu::serialize gives it.
std::optional<std::span<const std::byte>> access_part(ShardId shard,
                                                      std::span<const std::byte> stored);

// The same of limits, as LimitCpu::serialize gives it.
std::optional<std::span<const std::byte>> limits_part(ShardId shard,
                                                      std::span<const std::byte> stored);

// Appends the beginning of what install() of a node with a history takes: the tree that the
// frontier stands for and one entry more. The service's bytes follow.
void begin_ledger_state(std::vector<std::byte>& bytes,
                        const ledger::SnapshotFrontier& frontier,
                        std::span<const std::byte> entry);

// What a new cluster takes over from another one beside its services' state, in shard 0.
struct ClusterStates {
  membership::ViewCpu view;
  security::AccessCpu access;
  security::LimitCpu limits;
};

// Ends it, behind the service's bytes: the cluster log of a new cluster is empty.
void end_ledger_state(std::vector<std::byte>& bytes, ShardId shard, const ClusterStates& states);

}  // namespace gcoord::server
