// The requests about who is behind sessions (protocol/audit/messages.h). The client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/leases.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::client {

using Origins = Result<std::vector<SessionOrigin>>;

void session_origins(Core& core,
                     const std::vector<std::uint64_t>& sessions,
                     Callback<Origins> callback);

void holder_origins(Core& core, const std::string& name, Callback<Origins> callback);

}  // namespace gcoord::client
