// The kernels behind Merkle trees on a GPU, as functions that host code can call.
//
// Asynchronous, on the default stream; all pointers are device memory. Errors of a launch are found
// by the next synchronize_device.
#pragma once

#include "ledger/trees/turn.h"

namespace gcoord::ledger {

void launch_append(const MerkleTurn& turn);

// Of the turn's shards, by run.
void launch_roots(const MerkleTurn& turn, Sha256Words* roots);

}  // namespace gcoord::ledger
