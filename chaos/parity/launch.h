// The kernels of a resident cluster as functions that host code can call.
//
// Asynchronous, in order, on the default stream. Errors of a launch are found by the next
// synchronize_device. All pointers inside the views are device memory.
#pragma once

#include "chaos/parity/device.h"

#include <cstdint>

namespace gcoord::chaos {

// Every row as an empty replica; once, before the first turn.
void launch_start(const DeviceWorldView& world);

// One turn, in three kernels.
void launch_turn(const DeviceWorldView& world, const ResidentTurn& turn);

// One number per row of a node, to device memory.
void launch_digests(const DeviceWorldView& world, std::uint32_t node, std::uint64_t* digest);

// One row, whole, to device memory.
void launch_row(const DeviceWorldView& world,
                std::uint32_t node,
                std::uint32_t row,
                consensus::RowCopy* out);

}  // namespace gcoord::chaos
