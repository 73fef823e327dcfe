// Acquires that their callers may stop.
#pragma once

#include "client/core/core.h"
#include "client/dispatch/operation.h"

#include <stop_token>

namespace gcoord::client {

// Submits an acquire, on any thread. With `stop` its caller gives it up when that is requested,
// also on any thread, or was requested before: then it ends with GC6006. nullptr: nobody stops it.
void submit_stoppable(Core& core, OperationPtr acquire, const std::stop_token* stop);

}  // namespace gcoord::client
