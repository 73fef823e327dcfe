#include "ledger/trees/cuda.h"

namespace gcoord::ledger {

Result<std::unique_ptr<MerkleDevice>> make_cuda_merkle_device(int /*device*/) {
  return Status{StatusCode::Unavailable,
                "this build has no device code; configure with --preset cuda"};
}

}  // namespace gcoord::ledger
