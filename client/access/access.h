// Users and roles, read and changed (protocol/access/messages.h). Thread-safe; callbacks run on the
// client's thread.
#pragma once

#include "client/core/calls.h"
#include "gcoord/access.h"

namespace gcoord::client {

void access(Core& core, const AccessQuery& query, Callback<Result<AccessReport>> callback);

void change_access(Core& core, const AccessChange& change, Callback<Result<AccessReport>> callback);

}  // namespace gcoord::client
