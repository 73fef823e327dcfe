// Asks name servers where a service is.
//
// Servers are asked one after the other, twice each, and all of it ends with the time limit.
// Blocking; thread-safe.
#pragma once

#include "client/discovery/name_server.h"
#include "client/discovery/srv_message.h"
#include "gcoord/status.h"

#include <chrono>
#include <string>
#include <vector>

namespace gcoord::client {

// The records of a name that exists, none of one that does not. GC3001 when no server has answered
// in time, with what became of each.
Result<std::vector<SrvRecord>> look_up_srv(const std::string& name,
                                           const std::vector<NameServer>& servers,
                                           std::chrono::milliseconds timeout);

}  // namespace gcoord::client
