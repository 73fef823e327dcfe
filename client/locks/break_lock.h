// Breaking a lock by force, as an asynchronous call. Thread-safe; the callback runs on the client's
// thread.
#pragma once

#include "client/core/calls.h"
#include "client/core/core.h"
#include "gcoord/options.h"
#include "gcoord/types.h"

#include <string_view>

namespace gcoord::client {

void break_lock(Core& core,
                std::string_view name,
                const BreakOptions& options,
                Callback<Result<BrokenLock>> callback);

}  // namespace gcoord::client
