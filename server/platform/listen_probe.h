// Test of a listening address before the start writes anything that a failure would waste.
//
// A start that repairs begins a generation of its directory, of which there are 255
// (docs/adr/0025), and peers are told of it when they are connected to; so it comes before the
// ports are opened. This finds the ordinary reason for which those fail, another process that has
// them. Thread-safe.
#pragma once

#include "common/status.h"
#include "server/platform/endpoint_name.h"

namespace gcoord::server {

// Ok for port 0, for an empty address, and for a name that is none: whoever listens says that.
// ListenFailed otherwise.
Status probe_listen(const Endpoint& address);

}  // namespace gcoord::server
