// The replicated log by its former name, for the services that still say it.
#pragma once

#include "server/replicated_log.h"

namespace gcoord::server {

using ReplicaPort = ReplicatedLog;

}  // namespace gcoord::server
