// The Merkle trees of a node's shards: owns their memory, on the CPU or on a GPU, and appends.
//
//   trees->take(runs);      // the committed entries of a turn, copied to where the trees are
//   trees->append();        // hashes them and whatever they complete
//   trees->fold_roots();    // of the shards of the turn
//   trees->roots(), trees->leaf_hashes(), trees->kept()
//
// Equal calls give equal answers, bit by bit, on every device. Contract: one thread. Errors of
// take: InvalidArgument for what no tree takes (an unknown shard, one named twice, a run without a
// leaf, an extent outside the payload or off its alignment), ResourceExhausted for more than the
// limits; nothing is changed then. Errors of the other calls are the device's; after one the trees
// are not to be trusted and the owner builds new ones. Host only.
#pragma once

#include "common/region_arena.h"
#include "common/status.h"
#include "ledger/merkle/frontier.h"
#include "ledger/trees/device.h"
#include "ledger/trees/turn.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::ledger {

struct MerkleLimits {
  std::uint32_t shard_count = 1;
  std::uint32_t levels = 32;                 // A tree has less than 2^levels leaves; at most 63.
  std::uint32_t leaves_max = 1u << 16;       // Of a turn.
  std::size_t payload_bytes_max = 1u << 22;  // Of a turn.
};

// The entries of one turn, shard by shard, each shard's in log order.
struct MerkleRuns {
  std::span<const std::uint32_t> shard;
  std::span<const std::uint32_t> first;  // By run its first leaf; one more: how many leaves.
  std::span<const LeafExtent> leaves;
  std::span<const std::byte> payload;
};

class MerkleTrees {
 public:
  static Result<std::unique_ptr<MerkleTrees>> make(std::unique_ptr<MerkleDevice> device,
                                                   const MerkleLimits& limits);
  MerkleTrees(const MerkleTrees&) = delete;
  MerkleTrees& operator=(const MerkleTrees&) = delete;

  Status take(const MerkleRuns& runs);

  // Appends what was taken; called again, it appends the same once more.
  Status append();
  Status fold_roots();

  // Of the last fold_roots, by run.
  Result<std::vector<Sha256Words>> roots();

  // Of the last append: of every leaf in the order of `leaves` (FailedPrecondition after a take or
  // a restore, until there is one); and nodes of the kept levels, by shard, level and index.
  Result<std::vector<Sha256Words>> leaf_hashes();
  Result<std::vector<KeptNode>> kept();

  // What the trees of some shards can be gone on from, and the same put in place of what they are.
  // The frontiers are sane and have less than 2^levels leaves; no shard is named twice.
  Result<std::vector<MerkleFrontier>> frontiers(std::span<const std::uint32_t> shards);
  Status restore(std::span<const std::uint32_t> shards, std::span<const MerkleFrontier> frontiers);

  // Leaves of a shard's tree.
  std::uint64_t size(std::uint32_t shard) {
    count_appends();
    return sizes_[shard];
  }

  std::size_t memory_bytes() const { return memory_bytes_; }

 private:
  MerkleTrees(std::unique_ptr<MerkleDevice> device, const MerkleLimits& limits)
      : device_(std::move(device)), limits_(limits), sizes_(limits.shard_count) {}

  Status allocate();
  Status check(const MerkleRuns& runs);
  static bool by_columns(std::size_t shard_count, std::size_t width);
  Status check_run(const MerkleRuns& runs, std::uint32_t run) const;
  Status check_sizes();
  void count_appends();

  std::uint32_t added(std::uint32_t run) const {
    return first_of_run_[run + 1] - first_of_run_[run];
  }

  std::unique_ptr<MerkleDevice> device_;
  MerkleLimits limits_;
  std::size_t memory_bytes_ = 0;
  MerkleTurn turn_;
  // Of the device, for take.
  std::uint32_t* run_shard_ = nullptr;
  std::uint32_t* run_first_ = nullptr;
  LeafExtent* leaves_ = nullptr;
  std::byte* payload_ = nullptr;
  Sha256Words* roots_ = nullptr;
  // What was taken, and how large trees are, on the host.
  std::vector<std::uint64_t> sizes_;  // By shard: before the appends that are not counted in it.
  std::uint64_t appends_ = 0;         // Of what was taken, that are not counted.
  bool appended_ = false;             // What was taken, at least once.
  std::uint64_t size_bound_ = 0;      // No tree is larger, with all appends counted.
  std::uint32_t run_max_ = 0;         // The most leaves of a run.
  std::vector<std::uint32_t> shard_of_run_;
  std::vector<std::uint32_t> first_of_run_;
  std::vector<std::uint64_t> named_in_;  // By shard: the take that named it last.
  std::uint64_t takes_ = 0;
};

}  // namespace gcoord::ledger
