// Deadlock detector: a graph of waits, reduced until only the waits of a deadlock remain.
//
// A vertex waits for the vertices that its edges lead to: for all of them (a lock that it wants
// alone) or for any of them (a permit). One without edges goes on by itself. Who goes on frees
// those that waited for nothing else, until nothing changes; the rest is stuck, for good, because
// each of them waits for somebody stuck (all of them, if it waits for any). This is the AND-OR
// model of Knapp, "Deadlock detection in distributed databases" (Computing Surveys, 1987), solved
// as a least fixed point: the answer does not depend on the order of the work.
//
// Then each stuck vertex points to the lowest stuck one that it waits for. Whoever can be reached
// over as many pointers as there are vertices stands on a cycle; pointers are followed by doubling
// (Wyllie, "The complexity of parallel computations", 1979).
//
// Every stage is a loop over edges or vertices whose iterations may run in any order and together.
// A view over memory of the owner (wait_graph_search.h), copied by value. Host and device.
#pragma once

#include "common/device/device_atomic.h"
#include "common/device/device_minimum.h"
#include "common/hd.h"

#include <cstdint>

namespace gcoord::sessions {

inline constexpr std::uint32_t kNoVertex = 0xffff'ffffu;

// Bit of WaitEdge::from: the edge leads to somebody who goes on.
inline constexpr std::uint32_t kEdgeDone = 1u << 31;

struct WaitEdge {
  std::uint32_t from = 0;  // Below 2^31.
  std::uint32_t to = 0;
};

// Rounds that are asked for at once: the host looks at how it went after so many.
inline constexpr std::uint32_t kPruneRounds = 16;

// What the stages tell the host. A word is 0 or 1.
struct WaitGraphState {
  std::uint64_t changed[kPruneRounds] = {};  // Somebody was freed in this round.
  std::uint64_t stuck = 0;                   // Somebody is left.
  std::uint32_t cycle_count = 0;             // Vertices on cycles.
  std::uint32_t reserved = 0;
};

struct WaitGraph {
  std::uint32_t vertex_count = 0;
  std::uint32_t edge_count = 0;
  WaitEdge* edges = nullptr;
  const std::uint8_t* any = nullptr;  // 1: the vertex waits for any of its edges.
  // Edges of the vertex that must still lead to somebody who goes on. 0 from the start: it waits
  // for nobody. Beyond 0 it wraps, which means nothing.
  std::uint32_t* lacking = nullptr;
  std::uint32_t* freed = nullptr;   // 1: it goes on.
  std::uint32_t* choice = nullptr;  // Of a stuck one: the lowest stuck one that it waits for.
  std::uint32_t* jump = nullptr;    // Where 2^k pointers lead to; two columns, by turns.
  std::uint32_t* on_cycle = nullptr;
  WaitEdge* cycles = nullptr;  // Who is on one, and its pointer; in no particular order.
  WaitGraphState* state = nullptr;
};

// Counts an edge for the vertex that it begins at. Before everything else.
GCOORD_HD inline void count_wait_edge(const WaitGraph& graph, std::uint32_t edge) {
  const std::uint32_t from = graph.edges[edge].from;
  if (graph.any[from] == 0) {
    relaxed_add(graph.lacking[from], 1);
  } else {
    relaxed_set(graph.lacking[from], 1);
  }
}

// Before the first round.
GCOORD_HD inline void begin_wait_vertex(const WaitGraph& graph, std::uint32_t vertex) {
  graph.freed[vertex] = graph.lacking[vertex] == 0 ? 1 : 0;
  graph.choice[vertex] = kNoVertex;
  graph.on_cycle[vertex] = 0;
}

// Whether a round has anything to do: the one before it changed something.
GCOORD_HD inline bool prune_goes_on(const WaitGraph& graph, std::uint32_t round) {
  return round == 0 || graph.state->changed[round - 1] != 0;
}

// One round at one edge: if it leads to somebody who goes on, its beginning waits for one less.
GCOORD_HD inline void prune_wait_edge(const WaitGraph& graph,
                                      std::uint32_t edge,
                                      std::uint32_t round) {
  WaitEdge& own = graph.edges[edge];
  const std::uint32_t from = own.from;
  if ((from & kEdgeDone) != 0 || graph.freed[own.to] == 0) {
    return;
  }
  own.from = from | kEdgeDone;
  if (relaxed_add(graph.lacking[from], ~0u) == 1) {
    relaxed_set(graph.freed[from], 1);
    relaxed_store(graph.state->changed[round], 1);
  }
}

GCOORD_HD inline void look_for_stuck(const WaitGraph& graph, std::uint32_t vertex) {
  if (graph.freed[vertex] == 0) {
    relaxed_store(graph.state->stuck, 1);
  }
}

GCOORD_HD inline void choose_wait_edge(const WaitGraph& graph, std::uint32_t edge) {
  const WaitEdge own = graph.edges[edge];
  const bool waits = (own.from & kEdgeDone) == 0 && graph.freed[own.from] == 0;
  if (waits && graph.freed[own.to] == 0) {
    relaxed_minimum(graph.choice[own.from], own.to);
  }
}

// The first pointers: who is not stuck points to itself.
GCOORD_HD inline void begin_jump(const WaitGraph& graph, std::uint32_t vertex) {
  const std::uint32_t choice = graph.choice[vertex];
  graph.jump[vertex] = choice == kNoVertex ? vertex : choice;
}

// Twice as far: from column round % 2 of `jump` into the other.
GCOORD_HD inline void double_jump(const WaitGraph& graph,
                                  std::uint32_t vertex,
                                  std::uint32_t round) {
  const std::uint32_t* from = graph.jump + std::uint64_t{round % 2} * graph.vertex_count;
  std::uint32_t* to = graph.jump + std::uint64_t{(round + 1) % 2} * graph.vertex_count;
  to[vertex] = from[from[vertex]];
}

// Rounds of doubling after which a pointer spans at least as many as there are vertices.
GCOORD_HD constexpr std::uint32_t jump_rounds(std::uint32_t vertex_count) {
  std::uint32_t rounds = 0;
  while (rounds < 31 && (1u << rounds) < vertex_count) {
    ++rounds;
  }
  return rounds;
}

// Marks where the stuck vertex ends up: on a cycle. Everybody who marks stores the same.
GCOORD_HD inline void mark_cycle(const WaitGraph& graph, std::uint32_t vertex) {
  if (graph.freed[vertex] == 0) {
    const std::uint32_t rounds = jump_rounds(graph.vertex_count);
    const std::uint32_t* last = graph.jump + std::uint64_t{rounds % 2} * graph.vertex_count;
    graph.on_cycle[last[vertex]] = 1;
  }
}

GCOORD_HD inline void list_cycle(const WaitGraph& graph, std::uint32_t vertex) {
  if (graph.on_cycle[vertex] != 0) {
    graph.cycles[relaxed_add(graph.state->cycle_count, 1)] = {vertex, graph.choice[vertex]};
  }
}

}  // namespace gcoord::sessions
