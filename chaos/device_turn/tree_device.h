// Hashes what a node of a turn cluster decides, on the device that the node runs on.
//
// One resident kernel beside the node's own, on a stream of its own, from construction until it is
// told to end and everything is hashed, or its time is over. It has multiprocessors of its own,
// which it takes before the nodes of the device start: a warp that turns leaves no registers in its
// quarter of a multiprocessor, and one whose neighbour hashes turns 1.6 times as slowly. Destroy it
// before its cluster. CUDA builds only; host code, one thread per object.
#pragma once

#include "chaos/device_turn/turn_cluster.h"
#include "common/status.h"

#include <array>
#include <cstdint>
#include <memory>

namespace gcoord::chaos {

// Multiprocessors that hash for one node of a device with `processors` of them that `nodes` share:
// whole pairs, and at least one, so that about `percent` of all are left for turns. Eight blocks
// that hash fill one.
std::uint32_t hash_processors(std::uint32_t processors, std::uint32_t nodes, std::uint32_t percent);
inline constexpr std::uint32_t kProcessorHashBlocks = 8;

// Asks CUDA for more queues to a device than the eight it makes by itself: three nodes, what hashes
// for them and copies to them have nine streams, and a stream that shares a queue with a resident
// kernel waits for its end. Before the process's first call of CUDA; what the environment says
// already stays.
void ask_for_queues();

// Multiprocessors of a device.
Result<std::uint32_t> processors_of(int device);

struct HashAddress {
  int device = 0;
  std::uint32_t first = 0;  // Of its multiprocessors,
  std::uint32_t count = 0;  // so many.
};

// The places of all nodes, from the last multiprocessors of each device on.
Result<std::array<HashAddress, server::kTurnNodes>> hash_places(
    const std::array<int, server::kTurnNodes>& devices, std::uint32_t processors_each);

class HashingNode {
 public:
  // Takes `count` multiprocessors from `first` on. Returns when all blocks that the cluster wants
  // have begun; ResourceExhausted if they have not after a second. The kernel leaves `limit_ns`
  // after its start at the latest.
  static Result<std::unique_ptr<HashingNode>> start(TurnCluster& cluster,
                                                    std::uint32_t n,
                                                    const HashAddress& place,
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
