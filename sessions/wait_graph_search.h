// Search for deadlocks among waits: the waits on a cycle, and for whom each of them waits.
//
// What: the host's owner of a WaitGraph on a SweepDevice. Vertices are numbers of the caller's; an
// edge says who waits for whom. The answer names all vertices on cycles of pointers, and when asked
// the pointer of every vertex that is stuck; it is the same on every device.
//
// Bounded: kPruneRoundsMax rounds over the edges. A graph that has not come to rest by then (a
// chain of that many waits in an unlucky order) is answered with nothing, and settled() says so.
// Contract: one thread; errors as SweepDevice, and kDeviceDiffers for an answer that cannot be: no
// index of it is used before it was found to be one. Host only.
#pragma once

#include "common/status.h"
#include "sessions/sweep_device.h"
#include "sessions/wait_findings.h"
#include "sessions/wait_graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::sessions {

inline constexpr std::uint32_t kPruneRoundsMax = 64 * kPruneRounds;

class WaitGraphSearch {
 public:
  // `device` works; it outlives this.
  explicit WaitGraphSearch(SweepDevice& device) : device_(device) {}

  // `any` says for each vertex whether it waits for any (1) or for all (0) of its edges. Edges name
  // vertices below any.size().
  Result<WaitCycles> find(std::span<const WaitEdge> edges, std::span<const std::uint8_t> any);

  // find(), and the pointers of all who are stuck if there are any. They prove themselves
  // (wait_findings.h).
  Result<WaitFindings> find_all(std::span<const WaitEdge> edges, std::span<const std::uint8_t> any);

  // The two parts of find(), for a caller that wants them apart.
  Status load(std::span<const WaitEdge> edges, std::span<const std::uint8_t> any);
  Result<WaitCycles> search();

  // After a search that found somebody. By vertex: the lowest stuck one that it waits for;
  // kNoVertex for who goes on.
  Result<std::vector<std::uint32_t>> choices();

 private:
  Status reserve(std::size_t edge_count, std::size_t vertex_count);

  SweepDevice& device_;
  WaitGraph graph_;
  SweepMemory memory_;
  std::size_t memory_bytes_ = 0;
};

}  // namespace gcoord::sessions
