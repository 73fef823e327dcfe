// Errors of commands of limits, as clients get them. Pure; any thread.
#pragma once

#include "common/status.h"
#include "security/limits/limit_apply.h"

namespace gcoord::server {

// Not of Applied. `epoch`: of the table that refused it.
Status limits_error(security::LimitCode code,
                    const security::LimitCommand& command,
                    std::uint64_t epoch);

}  // namespace gcoord::server
