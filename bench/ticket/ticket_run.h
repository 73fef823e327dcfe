// One measured run of warps at one ticket lock, with its figures as JSON.
//
// CUDA builds only; one thread.
#pragma once

#include "common/json/value.h"
#include "common/status.h"
#include "netcore/probe/ticket_probe_job.h"

#include <cstdint>
#include <vector>

namespace gcoord::bench {

struct TicketSetup {
  std::vector<std::uint32_t> devices = {0};  // The first is the lock's home.
  std::uint32_t warps = 1;                   // On each device.
  std::uint64_t takes = 0;                   // Of each warp.
  netcore::TicketScope scope = netcore::TicketScope::System;
};

// Fails unless every take was served and no addition was lost.
Result<Json> measure_tickets(const TicketSetup& setup);

}  // namespace gcoord::bench
