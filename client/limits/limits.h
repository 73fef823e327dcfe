// Limits and denials, read and changed (protocol/limits/messages.h). Thread-safe; callbacks run on
// the client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/limits.h"

namespace gcoord::client {

void limits(Core& core, const LimitsQuery& query, Callback<Result<LimitsReport>> callback);

void change_limits(Core& core, const LimitsChange& change, Callback<Result<LimitsReport>> callback);

}  // namespace gcoord::client
