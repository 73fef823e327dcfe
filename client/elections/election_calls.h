// Election queries that need no candidacy. Thread-safe; callbacks run on the client's thread.
#pragma once

#include "client/core/calls.h"
#include "client/core/core.h"
#include "gcoord/status.h"
#include "gcoord/types.h"

#include <cstdint>
#include <string_view>

namespace gcoord::client {

void candidates(Core& core, std::string_view name, Callback<Result<ElectionView>> callback);

struct TransferRequest {
  std::uint64_t session_id = 0;  // Of the next leader.
  std::uint64_t epoch = 0;       // Instead of the leader of this term; 0: of whichever.
};

void ask_transfer(Core& core,
                  std::string_view name,
                  const TransferRequest& ask,
                  Callback<Status> callback);

}  // namespace gcoord::client
