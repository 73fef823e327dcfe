#include "locks/parallel/cuda.h"

namespace gcoord::locks {

Result<std::unique_ptr<LockDevice>> make_cuda_lock_device(int /*device*/) {
  return Status{StatusCode::Unavailable,
                "this build has no device code; configure with --preset cuda"};
}

}  // namespace gcoord::locks
