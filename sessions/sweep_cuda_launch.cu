#include "sessions/sweep_cuda_launch.h"

namespace gcoord::sessions {
namespace {

constexpr std::uint32_t kThreads = 256;

__global__ void renew_kernel(RenewBatch batch) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < batch.count) {
    batch.outcomes[k] = renew_session(batch.columns, batch.sessions[k], batch.now);
  }
}

__global__ void scan_due_kernel(DueScan scan) {
  __shared__ DueBlock found;
  scan_due_block(scan, blockIdx.x, threadIdx.x / warp_lanes(), found);
}

// A copy would wait for another engine of the device, which takes as long as the look.
__global__ void tell_due_kernel(DueScan scan) {
  if (scan.summary != nullptr) {
    *scan.host_summary = *scan.summary;
  }
}

__global__ void take_due_kernel(DueTake take) {
  const std::uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < take.count) {
    take.proposals[k] = take_due(take.columns, take.rows[k]);
  }
}

__global__ void count_edge_kernel(WaitGraph graph) {
  const std::uint32_t edge = blockIdx.x * blockDim.x + threadIdx.x;
  if (edge < graph.edge_count) {
    count_wait_edge(graph, edge);
  }
}

__global__ void prune_kernel(WaitGraph graph, std::uint32_t round) {
  const std::uint32_t edge = blockIdx.x * blockDim.x + threadIdx.x;
  if (edge < graph.edge_count && prune_goes_on(graph, round)) {
    prune_wait_edge(graph, edge, round);
  }
}

__global__ void choose_kernel(WaitGraph graph) {
  const std::uint32_t edge = blockIdx.x * blockDim.x + threadIdx.x;
  if (edge < graph.edge_count) {
    choose_wait_edge(graph, edge);
  }
}

__global__ void jump_kernel(WaitGraph graph, std::uint32_t round) {
  const std::uint32_t vertex = blockIdx.x * blockDim.x + threadIdx.x;
  if (vertex < graph.vertex_count) {
    double_jump(graph, vertex, round);
  }
}

// A stage of one function per vertex.
using VertexStage = void (*)(const WaitGraph&, std::uint32_t);

template <VertexStage kStage>
__global__ void vertex_kernel(WaitGraph graph) {
  const std::uint32_t vertex = blockIdx.x * blockDim.x + threadIdx.x;
  if (vertex < graph.vertex_count) {
    kStage(graph, vertex);
  }
}

// One at least: what loops over nothing loads its kernel (launch_nothing).
std::uint32_t blocks_for(std::uint32_t count) {
  return count == 0 ? 1 : (count + kThreads - 1) / kThreads;
}

template <VertexStage kStage>
void launch_vertices(const WaitGraph& graph, cudaStream_t stream) {
  vertex_kernel<kStage><<<blocks_for(graph.vertex_count), kThreads, 0, stream>>>(graph);
}

}  // namespace

void launch_renew(const RenewBatch& batch, cudaStream_t stream) {
  renew_kernel<<<blocks_for(batch.count), kThreads, 0, stream>>>(batch);
}

void launch_scan_due(const DueScan& scan, cudaStream_t stream) {
  cudaMemsetAsync(scan.summary, 0xff, sizeof *scan.summary, stream);
  constexpr std::uint32_t kScanThreads = kDueBlockWords * 32;
  const std::uint32_t blocks = (scan.row_end + kScanThreads - 1) / kScanThreads;
  scan_due_kernel<<<blocks == 0 ? 1 : blocks, kScanThreads, 0, stream>>>(scan);
  tell_due_kernel<<<1, 1, 0, stream>>>(scan);
}

void launch_take_due(const DueTake& take, cudaStream_t stream) {
  take_due_kernel<<<blocks_for(take.count), kThreads, 0, stream>>>(take);
}

void launch_begin_graph(const WaitGraph& graph, cudaStream_t stream) {
  count_edge_kernel<<<blocks_for(graph.edge_count), kThreads, 0, stream>>>(graph);
  launch_vertices<begin_wait_vertex>(graph, stream);
}

void launch_prune_graph(const WaitGraph& graph, cudaStream_t stream) {
  for (std::uint32_t round = 0; round < kPruneRounds; ++round) {
    prune_kernel<<<blocks_for(graph.edge_count), kThreads, 0, stream>>>(graph, round);
  }
  launch_vertices<look_for_stuck>(graph, stream);
}

void launch_find_cycles(const WaitGraph& graph, cudaStream_t stream) {
  choose_kernel<<<blocks_for(graph.edge_count), kThreads, 0, stream>>>(graph);
  launch_vertices<begin_jump>(graph, stream);
  for (std::uint32_t round = 0; round < jump_rounds(graph.vertex_count); ++round) {
    jump_kernel<<<blocks_for(graph.vertex_count), kThreads, 0, stream>>>(graph, round);
  }
  launch_vertices<mark_cycle>(graph, stream);
  launch_vertices<list_cycle>(graph, stream);
}

void launch_nothing(cudaStream_t stream) {
  launch_renew({}, stream);
  scan_due_kernel<<<1, kDueBlockWords * 32, 0, stream>>>({});
  tell_due_kernel<<<1, 1, 0, stream>>>({});
  launch_take_due({}, stream);
  launch_begin_graph({}, stream);
  prune_kernel<<<1, kThreads, 0, stream>>>({}, 0);
  launch_vertices<look_for_stuck>({}, stream);
  launch_find_cycles({}, stream);
  jump_kernel<<<1, kThreads, 0, stream>>>({}, 0);
}

}  // namespace gcoord::sessions
