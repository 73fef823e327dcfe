// Hashes what a node of a turn cluster decides, on the device that the node runs on.
//
// One resident kernel beside the node's own, on a stream of its own, from construction until it is
// told to end and everything is hashed, or its time is over. It needs room on the device that the
// nodes leave (TurnShape::block_stripes, stripe_count). Destroy it before its cluster. CUDA builds
// only; host code, one thread per object.
#pragma once

#include "chaos/turn/turn_cluster.h"
#include "common/status.h"

#include <cstdint>
#include <memory>

namespace gcoord::chaos {

// Blocks that hash for each node, so that they fill what the nodes leave of a device: of a
// multiprocessor with turns what the warps of `block_stripes` stripes do not take, and all of the
// others. `processors`: of the device; `nodes`: that share it.
std::uint32_t hash_blocks_for(const server::TurnShape& shape,
                              std::uint32_t processors,
                              std::uint32_t nodes);

// Multiprocessors of a device.
Result<std::uint32_t> processors_of(int device);

class HashingNode {
 public:
  // The kernel leaves `limit_ns` after its start at the latest.
  static Result<std::unique_ptr<HashingNode>> start(TurnCluster& cluster,
                                                    std::uint32_t n,
                                                    int device,
                                                    std::uint64_t limit_ns);
  // Tells it to end and waits.
  ~HashingNode();

  // The same, and folds the roots; what CUDA says of it. The node's own kernel has left before.
  Status finish();

 private:
  struct Running;
  explicit HashingNode(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

}  // namespace gcoord::chaos
