// Making the library's public Status from the numbers of the protocol. Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "gcoord/status.h"
#include "rpc/error_codes.h"

#include <string_view>

namespace gcoord::client {

// Cause, evidence and fix of the table. code is not None.
Status failure(rpc::ErrorCode code, std::string_view evidence = {});

Status public_status(const gcoord::Status& status);

}  // namespace gcoord::client
