#include "sessions/wait_graph_search.h"

#include "common/assert.h"
#include "common/device/device_errors.h"

#include <algorithm>
#include <bit>
#include <string>

namespace gcoord::sessions {
namespace {

// Columns begin at multiples of it: a line of a device.
constexpr std::size_t kLine = 128;

constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + kLine - 1) / kLine * kLine;
}

// Gives parts of one memory, in order.
struct Parts {
  std::byte* next;

  template <typename T>
  T* take(std::size_t count) {
    auto* const part = reinterpret_cast<T*>(next);
    next += whole_lines(count * sizeof(T));
    return part;
  }
};

// An answer that no device in order gives.
Status impossible(const std::string& what) {
  return {StatusCode::Internal, "the device " + what, kDeviceDiffers};
}

}  // namespace

// Edges, `any`, and per vertex: lacking, freed, choice, on_cycle, two columns of pointers, and a
// pair for who is on a cycle.
Status WaitGraphSearch::reserve(std::size_t edge_count, std::size_t vertex_count) {
  constexpr std::size_t kWords = 4;
  const std::size_t word_bytes = whole_lines(vertex_count * sizeof(std::uint32_t));
  const std::size_t bytes =
      whole_lines(edge_count * sizeof(WaitEdge)) + whole_lines(vertex_count) + kWords * word_bytes +
      whole_lines(2 * vertex_count * sizeof(std::uint32_t)) +
      whole_lines(vertex_count * sizeof(WaitEdge)) + whole_lines(sizeof(WaitGraphState));
  if (memory_ == nullptr || memory_bytes_ < bytes) {
    memory_bytes_ = 0;
    memory_ = nullptr;  // Never memory for both.
    GCOORD_TRY(memory_, device_.reserve(std::bit_ceil(bytes)));
    memory_bytes_ = std::bit_ceil(bytes);
  }
  Parts parts{static_cast<std::byte*>(memory_.get())};
  graph_.vertex_count = static_cast<std::uint32_t>(vertex_count);
  graph_.edge_count = static_cast<std::uint32_t>(edge_count);
  graph_.edges = parts.take<WaitEdge>(edge_count);
  graph_.any = parts.take<std::uint8_t>(vertex_count);
  graph_.lacking = parts.take<std::uint32_t>(vertex_count);
  graph_.freed = parts.take<std::uint32_t>(vertex_count);
  graph_.choice = parts.take<std::uint32_t>(vertex_count);
  graph_.on_cycle = parts.take<std::uint32_t>(vertex_count);
  graph_.cycles = parts.take<WaitEdge>(vertex_count);
  graph_.jump = parts.take<std::uint32_t>(2 * vertex_count);
  graph_.state = parts.take<WaitGraphState>(1);
  return {};
}

Status WaitGraphSearch::load(std::span<const WaitEdge> edges, std::span<const std::uint8_t> any) {
  GCOORD_ASSERT(any.size() < kEdgeDone);
  GCOORD_ASSERT(edges.size() < kEdgeDone);
  const bool inside = std::ranges::all_of(
      edges, [&](const WaitEdge& edge) { return edge.from < any.size() && edge.to < any.size(); });
  GCOORD_ASSERT(inside);
  GCOORD_TRY_STATUS(reserve(edges.size(), any.size()));
  if (edges.empty()) {
    return {};
  }
  const std::vector<std::uint32_t> zeroes(any.size());
  GCOORD_TRY_STATUS(device_.copy_in(graph_.edges, edges.data(), edges.size_bytes()));
  GCOORD_TRY_STATUS(
      device_.copy_in(const_cast<std::uint8_t*>(graph_.any), any.data(), any.size_bytes()));
  return device_.copy_in(graph_.lacking, zeroes.data(), zeroes.size() * sizeof(std::uint32_t));
}

Result<WaitCycles> WaitGraphSearch::search() {
  WaitCycles found;
  if (graph_.edge_count == 0) {
    return found;
  }
  GCOORD_TRY_STATUS(device_.begin_graph(graph_));
  WaitGraphState state;
  do {
    state = WaitGraphState{};
    GCOORD_TRY_STATUS(device_.copy_in(graph_.state, &state, sizeof(state)));
    GCOORD_TRY_STATUS(device_.prune_graph(graph_));
    GCOORD_TRY_STATUS(device_.copy_out(&state, graph_.state, sizeof(state)));
    found.rounds += kPruneRounds;
    found.settled = state.changed[kPruneRounds - 1] == 0;
  } while (!found.settled && found.rounds < kPruneRoundsMax);
  if (!found.settled || state.stuck == 0) {
    return found;
  }
  GCOORD_TRY_STATUS(device_.find_cycles(graph_));
  GCOORD_TRY_STATUS(device_.copy_out(&state, graph_.state, sizeof(state)));
  if (state.cycle_count == 0 || state.cycle_count > graph_.vertex_count) {
    return impossible("says that " + std::to_string(state.cycle_count) + " of " +
                      std::to_string(graph_.vertex_count) + " are in deadlocks");
  }
  found.on_cycle.resize(state.cycle_count);
  GCOORD_TRY_STATUS(device_.copy_out(
      found.on_cycle.data(), graph_.cycles, found.on_cycle.size() * sizeof(WaitEdge)));
  std::ranges::sort(found.on_cycle, {}, &WaitEdge::from);
  return found;
}

Result<std::vector<std::uint32_t>> WaitGraphSearch::choices() {
  std::vector<std::uint32_t> choice(graph_.vertex_count);
  GCOORD_TRY_STATUS(
      device_.copy_out(choice.data(), graph_.choice, choice.size() * sizeof(std::uint32_t)));
  return choice;
}

Result<WaitCycles> WaitGraphSearch::find(std::span<const WaitEdge> edges,
                                         std::span<const std::uint8_t> any) {
  GCOORD_TRY_STATUS(load(edges, any));
  return search();
}

Result<WaitFindings> WaitGraphSearch::find_all(std::span<const WaitEdge> edges,
                                               std::span<const std::uint8_t> any) {
  WaitFindings found;
  GCOORD_TRY(found.cycles, find(edges, any));
  if (!found.cycles.on_cycle.empty()) {
    GCOORD_TRY(found.choices, choices());
  }
  if (!proves_itself(found, edges, any)) {
    return impossible("names deadlocks that do not exist");
  }
  return found;
}

}  // namespace gcoord::sessions
