// Decision of a leader to hand over to a preferred candidate in the queue.
//
// Preferred is who has a higher priority. A candidate that comes and goes must move nothing: it has
// to stand in the same wait for the whole hysteresis, and the leader has to have led for as long.
// So an office changes hands at most once in that time, whatever priorities there are, and since
// only strictly higher ones count, nothing ever goes back and forth between candidates who stay.
//
// Pure, with time as a parameter; one thread.
#pragma once

#include "client/records/session_lease.h"
#include "gcoord/clock.h"
#include "gcoord/types.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace gcoord::client {

struct SuccessionRules {
  std::uint32_t priority = 0;         // The leader's own.
  TimePoint hysteresis = kTimeNever;  // kTimeNever: nobody is preferred.
  TimePoint led_since{};
};

class Succession {
 public:
  explicit Succession(const SuccessionRules& rules) : rules_(rules) {}

  // The successor by the queue as the leader sees it now: the session to hand over to, or 0. Of
  // several, the one of the highest priority, and of these the first in line.
  std::uint64_t look(const std::vector<CandidateView>& line, TimePoint now);

 private:
  using Wait = std::pair<std::uint64_t, std::uint64_t>;  // Session and sequence.

  SuccessionRules rules_;
  std::map<Wait, TimePoint> seen_since_;  // Those preferred that stood in line at the last look.
};

}  // namespace gcoord::client
