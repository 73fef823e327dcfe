// The device that a LockParallel keeps its tables on, as far as it must know it: memory and loops.
//
// Why an interface: all that decides anything (growing, refusing, ordering) is then one class,
// which tests drive on the host with plain memory and loops in any order, and a GPU with its own
// memory and kernels. Contract: one thread; calls are ordered; those that return Status have
// finished their work when they return Ok. After any error the device's memory is not to be
// trusted, and the owner stops using it. Errors: Unavailable (no device), ResourceExhausted (no
// memory), Internal.
#pragma once

#include "common/status.h"
#include "locks/parallel/batch.h"
#include "locks/state/upkeep.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gcoord::locks {

// Device memory, given back when the last owner lets go. Valid on the device only.
using LockMemory = std::shared_ptr<void>;

class LockDevice {
 public:
  LockDevice() = default;
  virtual ~LockDevice() = default;
  LockDevice(const LockDevice&) = delete;
  LockDevice& operator=(const LockDevice&) = delete;

  // Zero-filled, aligned to 128 bytes.
  virtual Result<LockMemory> reserve(std::size_t bytes) = 0;
  virtual Status copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual Status copy_out(void* to, const void* from, std::size_t bytes) = 0;
  virtual Status copy_within(void* to, const void* from, std::size_t bytes) = 0;

  // Scratch memory that run() and order_events() need for batches of at most so many commands.
  virtual std::size_t scratch_bytes(std::uint32_t count_max) = 0;

  // All stages up to the replies (lock_batch.h); the batch's state says how it went.
  virtual Status run(const LockBatch& batch, void* scratch, std::size_t scratch_bytes) = 0;

  // The batch's `event_count` events into `ordered`. `first_events` has room for one per command.
  virtual Status order_events(const LockBatch& batch,
                              std::uint32_t event_count,
                              std::uint32_t* first_events,
                              LockEvent* ordered,
                              void* scratch,
                              std::size_t scratch_bytes) = 0;

  virtual Status move_ring(const RingMove& move) = 0;
  // Enter all rows in use into indexes that are empty.
  virtual Status index_locks(const LockTables& tables) = 0;
  virtual Status index_sessions(const LockTables& tables) = 0;
};

}  // namespace gcoord::locks
