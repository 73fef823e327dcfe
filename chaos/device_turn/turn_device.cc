#include "chaos/device_turn/turn_device.h"

#include "chaos/device_turn/tree_launch.h"
#include "chaos/device_turn/turn_launch.h"
#include "netcore/device/cuda_check.h"
#include "netcore/device/gpu_device.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::chaos {
namespace {

using server::kTurnNodes;

// Every stripe of the nodes on one device, and their clocks, must be resident at once.
Status check_room(const TurnClusterOptions& options,
                  const std::array<int, kTurnNodes>& devices,
                  int device) {
  GCOORD_CUDA_TRY(cudaSetDevice(device));
  GCOORD_CUDA_TRY(load_turns());
  GCOORD_CUDA_TRY(load_trees());
  std::uint32_t room = 0;
  GCOORD_CUDA_TRY(turn_blocks(options.shape.block_stripes, room));
  const auto nodes = static_cast<std::uint32_t>(std::count(devices.begin(), devices.end(), device));
  const std::uint32_t wanted = nodes * node_blocks(options.shape);
  if (wanted <= room) {
    return {};
  }
  return Status{StatusCode::ResourceExhausted,
                std::to_string(wanted) + " blocks of " + std::to_string(nodes) +
                    " nodes do not fit on cuda:" + std::to_string(device) + ", which holds " +
                    std::to_string(room) + " at once: take fewer stripes"};
}

Status start_rows(const TurnCluster& cluster, std::uint32_t n, int device) {
  GCOORD_CUDA_TRY(cudaSetDevice(device));
  GCOORD_CUDA_TRY(launch_rows(cluster.node(n), nullptr));
  GCOORD_CUDA_TRY(cudaDeviceSynchronize());
  return {};
}

Status make_stream(int device, cudaStream_t& stream) {
  GCOORD_CUDA_TRY(cudaSetDevice(device));
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return {};
}

}  // namespace

Result<std::unique_ptr<TurnCluster>> make_device_turn_cluster(
    const TurnClusterOptions& options, const std::array<int, kTurnNodes>& devices) {
  std::vector<std::unique_ptr<netcore::MemorySource>> memory(kTurnNodes);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(memory[n], netcore::make_gpu_memory(static_cast<std::uint32_t>(devices[n])));
    GCOORD_TRY_STATUS(check_room(options, devices, devices[n]));
  }
  GCOORD_TRY(auto cluster, TurnCluster::make(options, std::move(memory), devices));
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY_STATUS(start_rows(*cluster, n, devices[n]));
  }
  return cluster;
}

// --- Persistent

struct PersistentNode::Running {
  TurnCluster& cluster;
  std::uint32_t n;
  int device;
  cudaStream_t stream = nullptr;
};

PersistentNode::PersistentNode(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Result<std::unique_ptr<PersistentNode>> PersistentNode::start(TurnCluster& cluster,
                                                              std::uint32_t n,
                                                              int device,
                                                              std::uint64_t limit_ns) {
  auto running = std::make_unique<Running>(Running{cluster, n, device});
  GCOORD_TRY_STATUS(make_stream(device, running->stream));
  server::TurnTiming timing = cluster.timing(n);
  timing.life_ns = limit_ns;
  GCOORD_CUDA_TRY(launch_node(cluster.node(n), timing, running->stream));
  return std::unique_ptr<PersistentNode>{new PersistentNode(std::move(running))};
}

PersistentNode::~PersistentNode() {
  static_cast<void>(running_->cluster.abort(running_->n));
  static_cast<void>(join());
  cudaStreamDestroy(running_->stream);
}

bool PersistentNode::done() const {
  return has_ended(running_->stream);
}

Status PersistentNode::join() {
  GCOORD_CUDA_TRY(cudaSetDevice(running_->device));
  GCOORD_CUDA_TRY(cudaStreamSynchronize(running_->stream));
  return {};
}

// --- Graph

struct GraphNode::Running {
  ~Running() {
    cudaSetDevice(device);
    if (stream != nullptr) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    if (graph != nullptr) {
      cudaGraphExecDestroy(graph);
    }
  }

  int device = 0;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;
};

GraphNode::GraphNode(std::unique_ptr<Running> running) : running_(std::move(running)) {}

GraphNode::~GraphNode() = default;

Result<std::unique_ptr<GraphNode>> GraphNode::make(TurnCluster& cluster,
                                                   std::uint32_t n,
                                                   int device) {
  auto running = std::make_unique<Running>();
  running->device = device;
  GCOORD_TRY_STATUS(make_stream(device, running->stream));
  cudaGraph_t captured = nullptr;
  GCOORD_CUDA_TRY(cudaStreamBeginCapture(running->stream, cudaStreamCaptureModeThreadLocal));
  GCOORD_CUDA_TRY(launch_one_turn(cluster.node(n), cluster.timing(n), running->stream));
  GCOORD_CUDA_TRY(cudaStreamEndCapture(running->stream, &captured));
  const cudaError_t made = cudaGraphInstantiate(&running->graph, captured, 0);
  cudaGraphDestroy(captured);
  GCOORD_CUDA_TRY(made);
  return std::unique_ptr<GraphNode>{new GraphNode(std::move(running))};
}

Status GraphNode::run(std::uint32_t turns) {
  GCOORD_CUDA_TRY(cudaSetDevice(running_->device));
  for (std::uint32_t k = 0; k < turns; ++k) {
    GCOORD_CUDA_TRY(cudaGraphLaunch(running_->graph, running_->stream));
  }
  return {};
}

Status GraphNode::join() {
  GCOORD_CUDA_TRY(cudaSetDevice(running_->device));
  GCOORD_CUDA_TRY(cudaStreamSynchronize(running_->stream));
  return {};
}

}  // namespace gcoord::chaos
