// The cluster log as a node keeps it: shard heads in the order that binds everyone, and their tree.
//
//   cluster.leaves.N   48 bytes per leaf: its 44 bytes (shard_head.h), CRC32C u32 of index and leaf
//   cluster.tiles.N    36 bytes per 256 leaves: the root of their tree, CRC32C u32 of index and
//   root cluster.horizon    where the log begins here, once it was pruned (cluster_horizon.h)
//
// Little-endian, never to be renumbered. A pair of files holds kClusterSegmentLeaves leaves, N is
// its number; a log from before there were such pairs, in one file, is copied when it is opened.
// Hashes below a tile are made from its leaves when they are asked for; those above lie in memory,
// 64 bytes per 256 leaves. So a restart reads the tiles, not the leaves, and ten million leaves
// take 2.5 MB of memory.
//
// What is appended is decided already, and can be had from the other nodes; so an append is durable
// at the next sync() only, and what is torn behind the last one is dropped at open. What was synced
// is never dropped: if it is damaged, opening or reading it fails with DataLoss (kClusterLogRot).
// Files that are shorter than that come from a backup, and grow again. Pruning lets go of whole
// pairs; what is kept proves as before, against every root of a size at or above first().
// Appending, syncing, pruning and beginning anew are for one thread, reading is thread-safe.
#pragma once

#include "ledger/disk/disk.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/cluster_horizon.h"
#include "ledger/notes/shard_head.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace gcoord::ledger {

// Leaves of a pair of files: 12.6 MB.
inline constexpr std::uint64_t kClusterSegmentLeaves = std::uint64_t{1} << 18;

class ClusterLog final : public TreeReader {
 public:
  // Opens or creates the log; the disk outlives it. The first `durable_size` leaves were synced
  // (signer_state.h knows): as far as they are there they are whole, or it is DataLoss
  // (kClusterLogRot). segment_leaves, a multiple of 256, is another one for tests only.
  static Result<std::unique_ptr<ClusterLog>> open(
      Disk& disk, std::uint64_t durable_size, std::uint64_t segment_leaves = kClusterSegmentLeaves);

  // Failures are the disk's, and final.
  Status append(std::span<const ShardHead> leaves);
  Status sync();

  // Lets go of leaves below `wanted`, as far as whole pairs of files hold them; durable on return.
  // How many went.
  Result<std::uint64_t> prune(std::uint64_t wanted);

  // What is left of the tree below first().
  ClusterHorizon horizon() const;

  // Begins anew where another node's log begins, and has nothing else then; durable on return. The
  // horizon is sane, proved, above size(), and at the beginning of a pair of files.
  Status begin_at(const ClusterHorizon& horizon);

  std::uint64_t segment_leaves() const { return segment_leaves_; }

  // Of all files.
  std::uint64_t disk_bytes() const;

  std::uint64_t size() const override;
  std::uint64_t first() const override;

  Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                         std::uint64_t index,
                                         std::size_t count) const override;
  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override;

 private:
  struct Segment {
    std::unique_ptr<DiskFile> leaves;
    std::unique_ptr<DiskFile> tiles;
  };

  // Hashes of one level, those from index `base` on.
  struct Level {
    std::uint64_t base = 0;
    std::vector<MerkleHash> hashes;
  };

  ClusterLog(Disk& disk, std::uint64_t segment_leaves)
      : disk_(disk), segment_leaves_(segment_leaves) {}

  Status load(std::uint64_t durable_size);
  Status load_horizon();
  Status load_segment(std::uint64_t number, std::uint64_t durable_size);
  Status load_tiles(Segment& files, std::uint64_t begin, std::uint64_t end);
  Status load_tail(Segment& files, std::uint64_t end, std::uint64_t durable_size);
  Status take_over_single_file(std::uint64_t durable_size);
  Status append_locked(std::span<const ShardHead> leaves);
  Status sync_locked();
  Status close_tile(std::uint64_t tile);
  void push_tile(const MerkleHash& root);
  std::size_t push_within(std::size_t level, std::size_t end, const MerkleHash& hash);
  void take_horizon(const ClusterHorizon& horizon);
  ClusterHorizon horizon_at(std::uint64_t first) const;
  void drop_below(std::uint64_t first);
  Status remove_segments(std::uint64_t below);
  Result<Segment*> segment(std::uint64_t number) const;
  Result<bool> has_segment(std::uint64_t number) const;
  Result<std::vector<MerkleHash>> leaf_hashes(std::uint64_t index, std::uint64_t count) const;
  Result<MerkleHash> subtree(std::uint32_t level, std::uint64_t index) const;
  Result<std::vector<std::byte>> read_leaves(std::uint64_t index, std::uint64_t count) const;

  Disk& disk_;
  std::uint64_t segment_leaves_;
  mutable std::mutex mutex_;                       // Of everything below.
  mutable std::map<std::uint64_t, Segment> open_;  // A few.
  std::set<std::uint64_t> unsynced_;               // Segments.
  mutable bool created_ = false;                   // Since the directory was synced.
  std::uint64_t first_ = 0;
  std::uint64_t size_ = 0;
  std::vector<Level> upper_;  // From the level of a tile's root on.
};

}  // namespace gcoord::ledger
