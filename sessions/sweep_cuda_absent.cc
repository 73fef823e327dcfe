// A build without CUDA has no GPU to sweep on.
#include "sessions/sweep_device.h"

namespace gcoord::sessions {

Result<std::unique_ptr<SweepDevice>> make_cuda_sweep_device(int /*device*/) {
  return Status{StatusCode::Unavailable, "this build has no CUDA; configure with --preset cuda"};
}

}  // namespace gcoord::sessions
