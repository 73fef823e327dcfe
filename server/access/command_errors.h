// Errors of commands of access control, as clients get them. Pure; any thread.
#pragma once

#include "common/status.h"
#include "security/roles/role_apply.h"

namespace gcoord::server {

// Not of Applied. `epoch`: of the table that refused it.
Status access_error(security::AccessCode code,
                    const security::AccessCommand& command,
                    std::uint64_t epoch);

}  // namespace gcoord::server
