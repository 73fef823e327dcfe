// Moving a lock to another shard, as an asynchronous call. Thread-safe; the callback runs on the
// client's thread.
#pragma once

#include "client/core/calls.h"
#include "client/core/core.h"

#include <cstdint>
#include <string_view>

namespace gcoord::client {

void move_lock(Core& core,
               std::string_view name,
               std::uint32_t to_shard,
               Callback<Status> callback);

}  // namespace gcoord::client
