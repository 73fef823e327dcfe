#include "chaos/turn/tree_device.h"

#include "chaos/turn/tree_launch.h"
#include "chaos/turn/turn_launch.h"
#include "netcore/cuda_check.h"

#include <algorithm>
#include <utility>

namespace gcoord::chaos {
namespace {

// Stripes that take all registers of a multiprocessor. One of them, 32 threads of 255, takes what a
// block that hashes does, 128 of 64.
constexpr std::uint32_t kStripesOfAll = 8;

}  // namespace

std::uint32_t hash_blocks_for(const server::TurnShape& shape,
                              std::uint32_t processors,
                              std::uint32_t nodes) {
  const std::uint32_t turning = std::min(nodes * node_blocks(shape), processors);
  const std::uint32_t beside = kStripesOfAll - std::min(shape.block_stripes, kStripesOfAll);
  const std::uint32_t blocks = turning * beside + (processors - turning) * kHashBlocks;
  return blocks / nodes;
}

Result<std::uint32_t> processors_of(int device) {
  int processors = 0;
  GCOORD_CUDA_TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  return static_cast<std::uint32_t>(processors);
}

struct HashingNode::Running {
  TurnCluster& cluster;
  std::uint32_t n;
  int device;
  cudaStream_t stream = nullptr;
};

HashingNode::HashingNode(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Result<std::unique_ptr<HashingNode>> HashingNode::start(TurnCluster& cluster,
                                                        std::uint32_t n,
                                                        int device,
                                                        std::uint64_t limit_ns) {
  auto running = std::make_unique<Running>(Running{cluster, n, device});
  GCOORD_CUDA_TRY(cudaSetDevice(device));
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&running->stream, cudaStreamNonBlocking));
  ledger::MerkleFollower follower = cluster.follower(n);
  follower.life_ns = limit_ns;
  GCOORD_CUDA_TRY(launch_trees(follower, cluster.counted_log(n), running->stream));
  return std::unique_ptr<HashingNode>{new HashingNode(std::move(running))};
}

HashingNode::~HashingNode() {
  static_cast<void>(finish());
  cudaStreamDestroy(running_->stream);
}

Status HashingNode::finish() {
  GCOORD_TRY_STATUS(running_->cluster.end_hashing(running_->n));
  GCOORD_CUDA_TRY(cudaSetDevice(running_->device));
  GCOORD_CUDA_TRY(launch_tree_roots(running_->cluster.follower(running_->n), running_->stream));
  GCOORD_CUDA_TRY(cudaStreamSynchronize(running_->stream));
  return {};
}

}  // namespace gcoord::chaos
