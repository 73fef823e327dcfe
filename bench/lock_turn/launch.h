// Launch of the kernel that applies a batch. CUDA builds only.
#pragma once

#include "bench/lock_turn/apply.h"

namespace gcoord::bench {

// Enqueues on the default stream of the current device; the next synchronize_device finds errors.
void launch_apply_stripes(const LockTurnWork& work);

}  // namespace gcoord::bench
