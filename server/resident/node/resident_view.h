// The view of a resident node that its kernels work with, by itself: they are compiled with what is
// named here, which takes minutes, and not with all that a host needs of a node (node.h). POD.
#pragma once

#include "server/device_turn/view.h"
#include "server/resident/node/lock_turn_service.h"

namespace gcoord::server {

using ResidentView = TurnNode<LockTurnService>;

}  // namespace gcoord::server
