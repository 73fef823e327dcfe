// The ends of locks' delays: the leader's proposals that a lock whose holder failed is free again.
//
// The tables keep the delays (locks/state/delay.h) and decide; the leader proposes each end when it
// is due, with its lease, and again when that did not get into the log. At most kDelaysPerTickMax a
// tick. One thread, the node's loop.
#pragma once

#include "common/ids.h"
#include "locks/cpu/lock_cpu.h"
#include "server/requests/service_clock.h"
#include "server/requests/service_log.h"
#include "server/requests/shard_leaders.h"
#include "server/waits/pending_table.h"

#include <cstddef>
#include <vector>

namespace gcoord::server {

// Proposals of 26 bytes a tick; see kExpiriesPerPassMax (session_expiry.h).
inline constexpr std::size_t kDelaysPerTickMax = 1024;

class DelayEnds {
 public:
  struct Environment {
    locks::LockCpu& locks;
    ServiceLog& log;
    const ShardLeaders& leaders;
    const ServiceClock& clock;
  };

  explicit DelayEnds(const Environment& environment) : env_(environment) {}

  void on_tick();

  // A proposal did not get into the log: due again at `again`.
  void on_refused(const Pending& pending, Tick again);

  // kTickNever while there are none.
  Tick next_deadline() const { return env_.locks.delays().next_deadline(); }

 private:
  Environment env_;
  std::vector<locks::DelayedLock> due_;  // Scratch.
};

}  // namespace gcoord::server
