#include "sessions/wait_findings.h"

#include <algorithm>
#include <cstddef>

namespace gcoord::sessions {
namespace {

// Every pointer leads to somebody who has one.
bool pointers_stay_among_stuck(std::span<const std::uint32_t> choices) {
  return std::ranges::all_of(choices, [choices](std::uint32_t choice) {
    return choice == kNoVertex || (choice < choices.size() && choices[choice] != kNoVertex);
  });
}

// Every pointer is an edge, and none of its vertex leads to somebody lower who is stuck; whoever
// waits for any waits for nobody who goes on.
bool pointers_are_edges(std::span<const std::uint32_t> choices,
                        std::span<const WaitEdge> edges,
                        std::span<const std::uint8_t> any) {
  std::vector<std::uint8_t> is_edge(choices.size());
  for (const WaitEdge& edge : edges) {
    const std::uint32_t choice = choices[edge.from];
    if (choice == kNoVertex) {
      continue;
    }
    const bool stuck = choices[edge.to] != kNoVertex;
    if (stuck ? edge.to < choice : any[edge.from] != 0) {
      return false;
    }
    is_edge[edge.from] = is_edge[edge.from] != 0 || edge.to == choice ? 1 : 0;
  }
  for (std::size_t vertex = 0; vertex < choices.size(); ++vertex) {
    if (choices[vertex] != kNoVertex && is_edge[vertex] == 0) {
      return false;
    }
  }
  return true;
}

// Each is named once and its pointer leads to another of them, each to its own: so they are
// circles.
bool are_circles(std::span<const WaitEdge> on_cycle, std::span<const std::uint32_t> choices) {
  enum : std::uint8_t { kNot, kNamed, kReached };

  std::vector<std::uint8_t> seen(choices.size());
  for (const WaitEdge& each : on_cycle) {
    if (each.from >= seen.size() || seen[each.from] != kNot || choices[each.from] != each.to) {
      return false;
    }
    seen[each.from] = kNamed;
  }
  return std::ranges::all_of(on_cycle, [&seen](const WaitEdge& each) {
    const bool first = each.to < seen.size() && seen[each.to] == kNamed;
    if (first) {
      seen[each.to] = kReached;
    }
    return first;
  });
}

}  // namespace

bool proves_itself(const WaitFindings& found,
                   std::span<const WaitEdge> edges,
                   std::span<const std::uint8_t> any) {
  if (found.cycles.on_cycle.empty()) {
    return found.choices.empty();
  }
  return found.cycles.settled && found.choices.size() == any.size() &&
         pointers_stay_among_stuck(found.choices) &&
         pointers_are_edges(found.choices, edges, any) &&
         are_circles(found.cycles.on_cycle, found.choices);
}

}  // namespace gcoord::sessions
