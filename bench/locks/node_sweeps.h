// Benchmark of a node's sweeps, measured from the host with all copies: deadline scans over a
// device copy, batches of keep-alives, and searches of wait graphs at cluster size.
//
// Beside bench/locks/sweeps.h, whose columns and edges lie on the device before the clock starts:
// these are the calls that a node makes (server/sessions/device_sweeps.h), or decided not to make,
// with all their copies. Where the device is the host the same calls are the stand-in's.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "sessions/sweep_device.h"

namespace gcoord::bench {

Result<Json> measure_node_sweeps(sessions::SweepDevice& device);

}  // namespace gcoord::bench
