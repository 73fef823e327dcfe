#include "chaos/device_turn/tree_device.h"

#include "chaos/device_turn/tree_launch.h"
#include "netcore/device/cuda_check.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

namespace gcoord::chaos {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBeginTime{1};

static_assert(kProcessorHashBlocks == kHashBlocks);

}  // namespace

std::uint32_t hash_processors(std::uint32_t processors,
                              std::uint32_t nodes,
                              std::uint32_t percent) {
  const std::uint32_t pairs = (processors * (100 - percent) / 100 / nodes + 1) / 2;
  return 2 * std::max(pairs, 1u);
}

Result<std::array<HashAddress, server::kTurnNodes>> hash_places(
    const std::array<int, server::kTurnNodes>& devices, std::uint32_t processors_each) {
  std::array<HashAddress, server::kTurnNodes> places;
  for (std::uint32_t n = 0; n < server::kTurnNodes; ++n) {
    GCOORD_TRY(const std::uint32_t processors, processors_of(devices[n]));
    const auto before = std::count(devices.begin(), devices.begin() + n + 1, devices[n]);
    const std::uint32_t behind = static_cast<std::uint32_t>(before) * processors_each;
    if (behind > processors) {
      return Status{StatusCode::ResourceExhausted, "a device has too few multiprocessors to hash"};
    }
    places[n] = {devices[n], processors - behind, processors_each};
  }
  return places;
}

void ask_for_queues() {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
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
                                                        const HashAddress& place,
                                                        std::uint64_t limit_ns) {
  GCOORD_TRY(const std::uint32_t processors, processors_of(place.device));
  auto running = std::make_unique<Running>(Running{cluster, n, place.device});
  GCOORD_CUDA_TRY(cudaSetDevice(place.device));
  GCOORD_CUDA_TRY(cudaStreamCreateWithFlags(&running->stream, cudaStreamNonBlocking));
  ledger::MerkleFollower follower = cluster.follower(n);
  follower.life_ns = limit_ns;
  GCOORD_CUDA_TRY(launch_trees(follower,
                               cluster.counted_log(n),
                               {place.first, place.count, cluster.blocks_taken(n)},
                               processors,
                               running->stream));
  std::unique_ptr<HashingNode> node{new HashingNode(std::move(running))};
  const auto began = Clock::now();
  while (Clock::now() - began < kBeginTime) {
    GCOORD_TRY(const std::uint32_t begun, cluster.blocks_begun(n));
    if (begun >= follower.block_count) {
      return node;
    }
  }
  return Status{StatusCode::ResourceExhausted, "no room on a device for what hashes"};
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
