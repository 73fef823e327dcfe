// Findings of a deadlock search, and their verification.
//
// Findings come from a device and are indices. A look at the graph that was searched shows, without
// searching it again, that nobody among them can go on: who waits for all has somebody among them
// whom it waits for, who waits for any has nobody else. So findings that prove themselves name no
// circle that is not in the graph, whatever the device did; what they may lack is found by the next
// search. Host only.
#pragma once

#include "sessions/wait_graph.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::sessions {

struct WaitCycles {
  // Who is on one, ascending, and the lowest stuck vertex that it waits for: the next of its cycle.
  std::vector<WaitEdge> on_cycle;
  bool settled = true;
  std::uint32_t rounds = 0;
};

// What a search found, whole.
struct WaitFindings {
  WaitCycles cycles;
  std::vector<std::uint32_t> choices;  // As WaitGraphSearch::choices; empty where nobody is stuck.
};

// Whether every pointer is an edge to the lowest of the stuck, all of them are stuck by the edges
// alone, and those on cycles are on cycles of pointers. In one pass over the edges; at once where
// nobody is on one. Edges name vertices below any.size().
bool proves_itself(const WaitFindings& found,
                   std::span<const WaitEdge> edges,
                   std::span<const std::uint8_t> any);

}  // namespace gcoord::sessions
