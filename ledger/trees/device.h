// Device interface of a node's Merkle trees: memory and two loops.
//
// Why an interface: what decides anything is then one class (merkle_trees.h), driven on the host
// by plain loops (merkle_cpu.h) and on a GPU by kernels (merkle_cuda.h). Contract: one thread;
// calls are ordered and have finished their work when they return Ok. Errors: Unavailable (no
// device), ResourceExhausted (no memory), Internal; after one the memory is not to be trusted.
#pragma once

#include "common/status.h"
#include "ledger/trees/turn.h"

#include <cstddef>

namespace gcoord::ledger {

class MerkleDevice {
 public:
  MerkleDevice() = default;
  virtual ~MerkleDevice() = default;
  MerkleDevice(const MerkleDevice&) = delete;
  MerkleDevice& operator=(const MerkleDevice&) = delete;

  // Once: zero-filled memory, aligned to 128 bytes, that lives as long as the device. Its first
  // dense_bytes are used side by side, the rest here and there.
  virtual Result<std::byte*> reserve(std::size_t bytes, std::size_t dense_bytes) = 0;
  virtual Status copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual Status copy_out(void* to, const void* from, std::size_t bytes) = 0;

  // append_runs for all runs of the turn; kept_count begins at 0.
  virtual Status append(const MerkleTurn& turn) = 0;

  // The root of every run's shard, by run.
  virtual Status fold_roots(const MerkleTurn& turn, Sha256Words* roots) = 0;
};

}  // namespace gcoord::ledger
