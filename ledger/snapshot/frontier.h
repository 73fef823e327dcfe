// The frontier that a snapshot has of a shard's tree, out of what the tree shows of itself.
// Thread-safe, as the reader is.
#pragma once

#include "common/status.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/snapshot/format.h"

#include <cstdint>

namespace gcoord::ledger {

// Of the first `size` leaves: one perfect subtree per bit of size, the largest first (RFC 6962
// section 2.1). Failures: OutOfRange where the tree has fewer, and the reader's.
Result<SnapshotFrontier> snapshot_frontier(const TreeReader& reader, std::uint64_t size);

}  // namespace gcoord::ledger
