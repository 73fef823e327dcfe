// From the waits of a cluster to its deadlocks: who waits for whom in a circle, and what proves it.
//
// Sessions are the vertices of a wait-for graph (sessions/wait_graph.h), and so is each wait that
// any of several holders would end. A deadlock is a circle of waits; its evidence is every wait
// that must hold for the circle to be closed: of a wait for any holder that is all of theirs. Pure
// but for who searches the graph; one thread.
#pragma once

#include "common/status.h"
#include "server/deadlocks/wait.h"
#include "sessions/wait_graph_search.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gcoord::server {

// Waits of one deadlock at most: its evidence travels in one message to each leader.
inline constexpr std::size_t kDeadlockEvidenceMax = 256;

// Deadlocks that one look reports; the rest is found by the next ones.
inline constexpr std::size_t kDeadlocksPerLook = 16;

struct Deadlock {
  // Of each wait those holders that it is about: one, or all when any would do.
  std::vector<DeadlockWait> evidence;
  std::size_t ring = 0;    // The first so many of the evidence are the circle, in order.
  std::size_t victim = 0;  // Which of them began to wait last.
};

struct DeadlockSearch {
  std::vector<Deadlock> deadlocks;
  std::size_t oversized = 0;  // Circles with more evidence than kDeadlockEvidenceMax.
  bool settled = true;        // See sessions::WaitCycles.
};

// Who searches a graph: as sessions::WaitGraphSearch::find_all, so that what is found proves
// itself.
using WaitSearch = std::function<Result<sessions::WaitFindings>(
    std::span<const sessions::WaitEdge> edges, std::span<const std::uint8_t> any)>;

Result<DeadlockSearch> find_deadlocks(const WaitSearch& search,
                                      std::span<const DeadlockWait> waits);

}  // namespace gcoord::server
