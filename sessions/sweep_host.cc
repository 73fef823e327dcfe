// The loops of sweep_device.h on the host.
#include "common/tables/column_arena.h"
#include "sessions/sweep_device.h"

#include <cstdlib>
#include <cstring>

namespace gcoord::sessions {
namespace {

class HostSweepDevice final : public SweepDevice {
 public:
  Result<SweepMemory> reserve(std::size_t bytes) override {
    constexpr std::size_t kAlignment = ColumnArena::kAlignment;
    const std::size_t whole = (bytes + kAlignment) / kAlignment * kAlignment;
    void* start = std::aligned_alloc(kAlignment, whole);
    if (start == nullptr) {
      return Status{StatusCode::ResourceExhausted, "no memory for a sweep"};
    }
    std::memset(start, 0, whole);
    return SweepMemory(start, &std::free);
  }

  Result<SweepMemory> reserve_shared(std::size_t bytes) override { return reserve(bytes); }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Status renew(const RenewBatch& batch) override {
    for (std::uint32_t k = 0; k < batch.count; ++k) {
      batch.outcomes[k] = renew_session(batch.columns, batch.sessions[k], batch.now);
    }
    return {};
  }

  Status scan_due(const DueScan& scan) override {
    *scan.summary = DueSummary{};
    DueSummary said;
    for (std::uint32_t word = 0; word < due_word_count(scan.row_end); ++word) {
      said = both_of(said, scan_due_word(scan, word));
    }
    add_due(scan, said);
    *scan.host_summary = *scan.summary;
    return {};
  }

  Status take_due(const DueTake& take) override {
    for (std::uint32_t k = 0; k < take.count; ++k) {
      take.proposals[k] = sessions::take_due(take.columns, take.rows[k]);
    }
    return {};
  }

  Status begin_graph(const WaitGraph& graph) override {
    for (std::uint32_t edge = 0; edge < graph.edge_count; ++edge) {
      count_wait_edge(graph, edge);
    }
    for (std::uint32_t vertex = 0; vertex < graph.vertex_count; ++vertex) {
      begin_wait_vertex(graph, vertex);
    }
    return {};
  }

  // Forwards and backwards by turns, so that long chains in either order need few rounds.
  Status prune_graph(const WaitGraph& graph) override {
    for (std::uint32_t round = 0; round < kPruneRounds && prune_goes_on(graph, round); ++round) {
      for (std::uint32_t k = 0; k < graph.edge_count; ++k) {
        prune_wait_edge(graph, round % 2 == 0 ? k : graph.edge_count - 1 - k, round);
      }
    }
    for (std::uint32_t vertex = 0; vertex < graph.vertex_count; ++vertex) {
      look_for_stuck(graph, vertex);
    }
    return {};
  }

  Status find_cycles(const WaitGraph& graph) override {
    for (std::uint32_t edge = 0; edge < graph.edge_count; ++edge) {
      choose_wait_edge(graph, edge);
    }
    each_vertex(graph, [](const WaitGraph& all, std::uint32_t v) { begin_jump(all, v); });
    for (std::uint32_t round = 0; round < jump_rounds(graph.vertex_count); ++round) {
      each_vertex(graph,
                  [round](const WaitGraph& all, std::uint32_t v) { double_jump(all, v, round); });
    }
    each_vertex(graph, [](const WaitGraph& all, std::uint32_t v) { mark_cycle(all, v); });
    each_vertex(graph, [](const WaitGraph& all, std::uint32_t v) { list_cycle(all, v); });
    return {};
  }

 private:
  template <typename Stage>
  static void each_vertex(const WaitGraph& graph, const Stage& stage) {
    for (std::uint32_t vertex = 0; vertex < graph.vertex_count; ++vertex) {
      stage(graph, vertex);
    }
  }
};

}  // namespace

std::unique_ptr<SweepDevice> make_host_sweep_device() {
  return std::make_unique<HostSweepDevice>();
}

}  // namespace gcoord::sessions
