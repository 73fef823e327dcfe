#include "bench/lock_turn/device.h"

namespace gcoord::bench {

Result<std::unique_ptr<LockTurnDevice>> open_lock_turn_device(int /*device*/,
                                                              const LockTurnPlan& /*plan*/) {
  return Status{StatusCode::Unavailable, "built without CUDA; configure with --preset cuda"};
}

}  // namespace gcoord::bench
