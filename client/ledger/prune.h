// One node's ledger, pruned (protocol/ledger/prune_messages.h). Thread-safe; the callback runs on
// the client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/ledger.h"
#include "protocol/ledger/prune_messages.h"

namespace gcoord::client {

// As nodes take it.
protocol::LedgerPrune prune_request(const LedgerPruning& order);

void prune_ledger(Core& core,
                  NodeId node,
                  const LedgerPruning& order,
                  Callback<Result<LedgerPruned>> callback);

}  // namespace gcoord::client
