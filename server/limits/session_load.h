// Load of a session: its locks and waiters in all shards, as far as this node's replicas know it.
// Pure; one thread.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"

#include <cstdint>

namespace gcoord::server {

struct SessionLoad {
  bool known = false;  // Some shard has it, and it lives there.
  std::uint32_t locks = 0;
  std::uint32_t waiters = 0;
};

SessionLoad session_load(const locks::LockCpu& locks, SessionId session);

// The TTL by which a shard has the session that lives there; 0: it does not.
std::uint32_t session_ttl_ms(const locks::LockCpu& locks, SessionId session, ShardId shard);

}  // namespace gcoord::server
