// The node's description of itself for the cluster view, made of its options. Pure; any thread.
#pragma once

#include "server/interfaces/replicated_log.h"
#include "server/members/view_keeper.h"
#include "server/options/options.h"

namespace gcoord::server {

// All but its address for clients, which is known when it listens.
ViewKeeperOptions member_options(const NodeOptions& options, const ReplicatedLog& engine);

}  // namespace gcoord::server
