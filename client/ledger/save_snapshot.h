// A snapshot of one node, read piece by piece (protocol/ledger/snapshot_messages.h). Thread-safe;
// callbacks run on the client's thread.
#pragma once

#include "client/core/calls.h"
#include "protocol/ledger/snapshot_messages.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::client {

struct SnapshotBytes {
  std::vector<std::byte> bytes;  // Empty and not last: ask again.
  bool last = false;
};

// Begins a save at the node; its number.
void open_snapshot(Core& core, NodeId node, Callback<Result<std::uint64_t>> callback);

// The piece at the offset.
void read_snapshot(Core& core,
                   NodeId node,
                   const protocol::SnapshotRead& read,
                   Callback<Result<SnapshotBytes>> callback);

}  // namespace gcoord::client
