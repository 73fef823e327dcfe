// Device interface of the wide loops over sessions and waits: memory, and one call per stage.
//
// Renewing many sessions, looking at all deadlines, thinning out a wait-for graph: each is a pure
// function per row, edge or vertex, and this interface is the loop around it, on the host
// (make_host_sweep_device) or on a GPU (make_cuda_sweep_device). Who owns what and what follows
// from it stands once, in sweep.h and wait_graph_search.h.
//
// Contract: one thread; calls are ordered; those that return Status have finished when they return.
// After an error the device's memory is not to be trusted and the owner stops using it. Errors:
// Unavailable (no such device), ResourceExhausted (no memory), Internal. Host only.
#pragma once

#include "common/status.h"
#include "sessions/columns.h"
#include "sessions/due_words.h"
#include "sessions/wait_graph.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gcoord::sessions {

// Memory of a SweepDevice, given back when the last owner lets go.
using SweepMemory = std::shared_ptr<void>;

// Keep-alives of `count` sessions, heard at one tick.
struct RenewBatch {
  SessionColumns columns;
  const SessionId* sessions = nullptr;
  RenewOutcome* outcomes = nullptr;
  std::uint32_t count = 0;
  Tick now;
};

// Rows that are due, to be marked as proposed.
struct DueTake {
  SessionColumns columns;
  const SessionRow* rows = nullptr;
  ExpiryProposal* proposals = nullptr;
  std::uint32_t count = 0;
};

class SweepDevice {
 public:
  SweepDevice() = default;
  virtual ~SweepDevice() = default;
  SweepDevice(const SweepDevice&) = delete;
  SweepDevice& operator=(const SweepDevice&) = delete;

  // Zero-filled, aligned to 128 bytes.
  virtual Result<SweepMemory> reserve(std::size_t bytes) = 0;
  // Zero-filled memory that the host and the device both reach; for a few words.
  virtual Result<SweepMemory> reserve_shared(std::size_t bytes) = 0;
  virtual Status copy_in(void* to, const void* from, std::size_t bytes) = 0;
  virtual Status copy_out(void* to, const void* from, std::size_t bytes) = 0;

  virtual Status renew(const RenewBatch& batch) = 0;
  virtual Status scan_due(const DueScan& scan) = 0;
  virtual Status take_due(const DueTake& take) = 0;

  // Counts edges and frees who waits for nobody. `lacking` is zero.
  virtual Status begin_graph(const WaitGraph& graph) = 0;
  // Up to kPruneRounds rounds, and a look for who is left. The state is zero.
  virtual Status prune_graph(const WaitGraph& graph) = 0;
  // Choices, pointers, and the vertices on cycles.
  virtual Status find_cycles(const WaitGraph& graph) = 0;
};

// One after another on this thread.
std::unique_ptr<SweepDevice> make_host_sweep_device();

// Unavailable: no such device, or a build without CUDA.
Result<std::unique_ptr<SweepDevice>> make_cuda_sweep_device(int device);

}  // namespace gcoord::sessions
