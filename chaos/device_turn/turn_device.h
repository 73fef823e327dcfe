// Runs the nodes of a turn cluster on devices, with either driver.
//
// PersistentNode is one resident kernel on a stream of its own from construction until it is told
// to leave. GraphNode replays a graph of the turn's kernels, as often as the caller says. Both end:
// a kernel leaves when its time is over whatever happens. Destroy them before their cluster. CUDA
// builds only; host code, one thread per object.
#pragma once

#include "chaos/device_turn/turn_cluster.h"
#include "common/status.h"

#include <array>
#include <cstdint>
#include <memory>

namespace gcoord::chaos {

// A cluster in device memory: node n on device devices[n]. Its rows are empty replicas, and the
// kernels of all devices are loaded. ResourceExhausted if the persistent kernels of all nodes on a
// device would not be resident at once.
Result<std::unique_ptr<TurnCluster>> make_device_turn_cluster(
    const TurnClusterOptions& options, const std::array<int, server::kTurnNodes>& devices);

class PersistentNode {
 public:
  // Launches. The kernel leaves `limit_ns` after its start at the latest.
  static Result<std::unique_ptr<PersistentNode>> start(TurnCluster& cluster,
                                                       std::uint32_t n,
                                                       int device,
                                                       std::uint64_t limit_ns);
  // Tells it to leave and waits.
  ~PersistentNode();

  // Has the kernel ended? Never waits.
  bool done() const;

  // Waits for a kernel that was told to leave; what CUDA says of it.
  Status join();

 private:
  struct Running;
  explicit PersistentNode(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

class GraphNode {
 public:
  static Result<std::unique_ptr<GraphNode>> make(TurnCluster& cluster, std::uint32_t n, int device);
  ~GraphNode();

  // Queues `turns` turns.
  Status run(std::uint32_t turns);
  // Waits for all queued turns.
  Status join();

 private:
  struct Running;
  explicit GraphNode(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

}  // namespace gcoord::chaos
