// The kernels behind LockParallel on a GPU, as functions that host code can call.
//
// Asynchronous, on the default stream, which waits for what runs beside it; all pointers inside the
// views are device memory. Errors of a launch are found by the next synchronize_device.
#pragma once

#include "locks/parallel/batch.h"
#include "locks/state/upkeep.h"

#include <cstddef>
#include <cstdint>

struct CUstream_st;
struct CUevent_st;

namespace gcoord::locks {

// What lets short runs be applied beside long ones; the owner's, of one device. The names are
// CUDA's own, so that this header needs none of CUDA's.
struct SideStream {
  CUstream_st* stream = nullptr;  // Does not wait for the default stream by itself.
  CUevent_st* listed = nullptr;   // The runs of a batch are known.
  CUevent_st* applied = nullptr;  // Its short ones are applied.
};

// Scratch memory of the two functions below, for batches of at most so many commands.
std::size_t group_scratch_bytes(std::uint32_t count_max);

// All stages up to the replies.
void launch_batch(const LockBatch& batch,
                  const SideStream& side,
                  void* scratch,
                  std::size_t scratch_bytes);
void launch_order_events(const LockBatch& batch,
                         std::uint32_t event_count,
                         std::uint32_t* first_events,
                         LockEvent* ordered,
                         void* scratch,
                         std::size_t scratch_bytes);
void launch_move_ring(const RingMove& move);
void launch_index_locks(const LockTables& tables);
void launch_index_sessions(const LockTables& tables);

}  // namespace gcoord::locks
