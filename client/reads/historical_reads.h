// Reads of the past as asynchronous calls. Thread-safe; callbacks run on the client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/reads.h"

#include <cstdint>
#include <string_view>

namespace gcoord::client {

struct PastRequest {
  std::string_view name;
  std::uint64_t index = 0;
  NodeId node;  // 0: the leader of the name's shard, and where that lacks the past any node.
};

void read_past(Core& core, const PastRequest& request, Callback<Result<LockReading>> callback);

}  // namespace gcoord::client
