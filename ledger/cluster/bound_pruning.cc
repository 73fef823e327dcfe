#include "ledger/cluster/bound_pruning.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"

#include <algorithm>

namespace gcoord::ledger {
namespace {

// As if it had signed the first `size` leaves.
Status bind_to(ClusterLog& log, SignerState& signer, std::uint64_t size) {
  GCOORD_TRY(const MerkleHash root, root_at(log, size));
  GCOORD_TRY_STATUS(log.sync());
  return signer.advance({size, root}, log);
}

}  // namespace

Result<std::uint64_t> prune_bound(ClusterLog& log, SignerState& signer, std::uint64_t wanted) {
  wanted = std::min(wanted, log.size());
  const std::uint64_t end = wanted - wanted % log.segment_leaves();
  const std::uint64_t signed_size = signer.last().size;
  if (end > log.first() && signed_size != 0 && signed_size < end) {
    const Status bound = bind_to(log, signer, end);
    if (bound.detail() == kSignerContradiction) {
      return std::uint64_t{0};
    }
    GCOORD_TRY_STATUS(bound);
  }
  return log.prune(wanted);
}

}  // namespace gcoord::ledger
