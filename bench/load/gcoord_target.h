// Drives gcoord's locks through libgcoord_client, asynchronously.
//
// Every client of the load has a session of its own, or all have one. All share one Client, or as
// many as are asked for; answers arrive on their threads, so the closed loop of a run wants exactly
// one per loop.
#pragma once

#include "bench/load/closed_loop.h"
#include "common/status.h"
#include "gcoord/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gcoord::bench {

struct GcoordOptions {
  std::vector<std::string> endpoints;
  std::uint32_t clients = 256;
  std::string name_prefix = "bench";
  bool one_session = false;  // Each client of the load is but a name of the one session.
  client::TlsOptions tls{};
};

// Opens sessions, runs the closed loop, closes them, returns what it measured.
Result<LoadResult> run_gcoord(const GcoordOptions& options, const LoadOptions& load);

}  // namespace gcoord::bench
