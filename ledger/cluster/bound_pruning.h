// Pruning of the cluster log behind what this node signed.
//
// A node that signs nothing for long, as it compares more slowly than leaves come, would keep all
// leaves behind its last signature: with them went what shows that later signatures continue it. So
// before they go the node looks once more that the log begins with what it signed, and from then on
// is bound to the log up to where it will begin, as if it had signed that. It signs nothing by it,
// and never can sign what it could not before. One thread.
#pragma once

#include "common/status.h"
#include "ledger/cluster/cluster_log.h"
#include "ledger/cluster/signer_state.h"

#include <cstdint>

namespace gcoord::ledger {

// ClusterLog::prune; how many leaves went. None if the log is another than the one that was signed
// (kSignerContradiction): it is evidence. Failures are the disk's and the log's, and final.
Result<std::uint64_t> prune_bound(ClusterLog& log, SignerState& signer, std::uint64_t wanted);

}  // namespace gcoord::ledger
