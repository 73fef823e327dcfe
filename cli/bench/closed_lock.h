// `gcoordctl bench lock` without --rate and --load: a closed loop, as fast as the cluster answers.
#pragma once

#include "cli/terminal/command.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

struct ClosedLockFlags {
  std::uint32_t clients = 16;
  std::uint32_t pipeline = 1;
  std::uint32_t batch = 0;  // Names of one call; 0: single calls.
  std::chrono::milliseconds length{5'000};
  std::chrono::milliseconds ttl{10'000};
  bool shared_name = false;
  std::string history;
};

// The exit code; what was measured, or the failure, has been printed.
int bench_closed_lock(Context& context, const ClosedLockFlags& flags);

}  // namespace gcoord::cli
