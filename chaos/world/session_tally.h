// Sessions that a simulated client opened, and those of them that nodes ended while the client was
// certain that they live: I12's early ends, counted where a program would feel them. What ran out
// by the client's own clock, or was closed by it, is not early. One thread.
#pragma once

#include "client/records/session_lease.h"

#include <cstdint>

namespace gcoord::chaos {

struct SessionTally {
  std::uint64_t opened = 0;
  std::uint64_t ended_early = 0;

  // A node says that the session is over; before the lease is given this news. `now` is of the
  // client's clock. The same news again counts once, since a lost lease is certain of nothing.
  void note_end(const client::SessionLease& lease, client::TimePoint now) {
    ended_early += lease.certain_until() > now ? 1u : 0u;
  }
};

}  // namespace gcoord::chaos
