// Orders to prune the ledger (protocol/ledger/order_messages.h). Thread-safe; the callback runs on
// the client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/ledger.h"

namespace gcoord::client {

void prune_orders(Core& core,
                  const PruneOrderChange& change,
                  Callback<Result<PruneOrdersReport>> callback);

}  // namespace gcoord::client
