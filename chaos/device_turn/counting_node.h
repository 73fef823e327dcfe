// A node of the counting service, as kernels are given it. POD; host and device.
#pragma once

#include "chaos/device_turn/counting_service.h"
#include "server/device_turn/view.h"

namespace gcoord::chaos {

using CountingNode = server::TurnNode<CountingService>;

}  // namespace gcoord::chaos
