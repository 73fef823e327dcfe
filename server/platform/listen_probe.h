// Test of a listening address before the start writes anything that a failure would waste.
//
// Every start is an incarnation of its data directory, and one that repairs also begins one of the
// 255 generations (docs/adr/0025). Both must be durable before peers are told of them, so they come
// before the ports are opened. This finds the ordinary reasons for which those fail: another
// process has the port, or the address is not one of this host. A process that takes the port
// between the test and the opening still costs one incarnation. Thread-safe.
#pragma once

#include "common/status.h"
#include "server/platform/endpoint_name.h"

#include <string_view>

namespace gcoord::server {

// Ok for port 0 and for an empty address. ListenFailed otherwise; it names `option`, the flag
// without its dashes that gave the address.
Status probe_listen(std::string_view option, const Endpoint& address);

}  // namespace gcoord::server
