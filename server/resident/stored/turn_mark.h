// The turn that a checkpoint store's shards were written at: a key of its Meta, absent for the
// host's. A log of record has the entries of one turn, and the values of both turns differ.
// Thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/checkpoint/checkpoint_store.h"

#include <cstddef>

namespace gcoord::server {

// Whether there is a resident turn for so many nodes: server/device_turn/voters.h has them, for
// whoever has a device.
constexpr bool has_resident_turn(std::size_t nodes) {
  return nodes == 3 || nodes == 5 || nodes == 7;
}

// Whether the store is one of a resident node. Failures: the store's.
Result<bool> is_of_resident_turn(const ledger::CheckpointStore& store);

// Says so, in the batch that a new store begins with.
void mark_resident_turn(ledger::CheckpointBatch& batch);

}  // namespace gcoord::server
