// Drives Redis's lock on one node over hiredis, pipelined, from one thread.
//
// To lock is SET name token NX PX; to unlock is the script of Redis's manual, which deletes the key
// only if it still holds the token. What many answers wait for is read and written together.
#pragma once

#include "bench/load/closed_loop.h"
#include "common/status.h"

#include <cstdint>
#include <string>

namespace gcoord::bench {

struct RedisOptions {
  std::uint16_t port = 0;
  std::uint32_t connections = 1;  // Shared by the clients, each over one of them.
  std::string name_prefix = "bench";
};

// Connects, runs the closed loop, returns what it measured. Unavailable when Redis does not answer.
Result<LoadResult> run_redis(const RedisOptions& options, const LoadOptions& load);

}  // namespace gcoord::bench
