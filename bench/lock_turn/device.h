// The lock tables of a device's turn on a GPU, and batches of decided commands for them.
//
// One kernel with a warp for each stripe applies a batch (apply.h). The tables stay on the device
// from batch to batch. Blocking; one thread. Builds without CUDA answer Unavailable.
#pragma once

#include "bench/lock_turn/plan.h"
#include "bench/lock_turn/rows.h"
#include "common/status.h"
#include "server/device_turn/service.h"

#include <memory>
#include <vector>

namespace gcoord::bench {

class LockTurnDevice {
 public:
  LockTurnDevice() = default;
  virtual ~LockTurnDevice() = default;
  LockTurnDevice(const LockTurnDevice&) = delete;
  LockTurnDevice& operator=(const LockTurnDevice&) = delete;

  // Puts the sealed batch where the log would have it.
  virtual Status prepare(const LockTurnRows& rows) = 0;

  // Rows with at least so many decided entries are their group's from now on; 0: none is.
  virtual void apply_together(std::uint32_t least) = 0;

  // Applies it; returns when all of it is applied. ResourceExhausted: a stripe ran out of rows, and
  // its node would have stopped.
  virtual Status apply() = 0;

  // One per entry of the batch.
  virtual Result<std::vector<server::TurnResult>> results() = 0;

  virtual std::size_t table_bytes() const = 0;
};

// Unavailable: no such device, or no CUDA in this build.
Result<std::unique_ptr<LockTurnDevice>> open_lock_turn_device(int device, const LockTurnPlan& plan);

}  // namespace gcoord::bench
