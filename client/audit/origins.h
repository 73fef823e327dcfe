// The requests about who is behind sessions (protocol/audit/messages.h). The client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/leases.h"

#include <string>
#include <vector>

namespace gcoord::client {

using Origins = Result<std::vector<SessionOrigin>>;

void session_origins(Core& core, std::vector<SessionId> sessions, Callback<Origins> callback);

void holder_origins(Core& core, const std::string& name, Callback<Origins> callback);

}  // namespace gcoord::client
