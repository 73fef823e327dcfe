// What stands before a service's bytes where a node keeps the history of its shards: how many
// entries were applied and, in what goes to another node, the frontier of the shard's Merkle tree.
//
//   version 1, kind 1 (0: checkpoint, 1: snapshot), reserved 2, entry count 4, size 8
//   of a snapshot: the frontier's size 8, its peaks 32 each, then per entry length 4 and bytes
//   then the service's own
//
// The wrapping service of the history writes and reads this while a node runs; here it is for
// whoever has the bytes and no node. Nodes that keep no history have the service's bytes alone,
// which begin with the magic of a lock snapshot and so cannot be taken for a head. Pure;
// thread-safe.
#pragma once

#include "ledger/snapshot_format.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// The service's own bytes, whatever stands before them. Nothing for what no node writes.
std::optional<std::span<const std::byte>> service_part(std::span<const std::byte> stored);

// Begins what install() of a node with a history takes: the tree that the frontier stands for and
// one entry more. The service's bytes follow.
void begin_ledger_state(std::vector<std::byte>& bytes,
                        const ledger::SnapshotFrontier& frontier,
                        std::span<const std::byte> entry);

}  // namespace gcoord::server
