#include "consensus/stepper_cuda.h"

namespace gcoord::consensus {

Result<std::unique_ptr<Stepper>> make_cuda_stepper(int /*device*/,
                                                   std::uint32_t /*row_count*/,
                                                   std::uint32_t /*slot_count*/) {
  return Status{StatusCode::Unavailable,
                "this build has no CUDA stepper; use --stepper cpu, or build with GCOORD_CUDA"};
}

}  // namespace gcoord::consensus
