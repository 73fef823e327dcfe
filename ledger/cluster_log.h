// The cluster log as a node keeps it: every shard head that was ever ordered, and its tree.
//
//   cluster.leaves   48 bytes per leaf: its 44 bytes (shard_head.h), CRC32C u32 of index and leaf
//   cluster.tiles    36 bytes per 256 leaves: the root of their tree, CRC32C u32 of index and root
//
// Little-endian, never to be renumbered. Hashes below a tile are made from its leaves when they are
// asked for; those above lie in memory, 64 bytes per 256 leaves. So a restart reads the tiles, not
// the leaves, and ten million leaves take 2.5 MB of memory.
//
// What is appended is decided already, and can be had from the other nodes; so an append is durable
// at the next sync() only, and what is torn behind the last one is dropped at open. What was synced
// is never dropped: if it is damaged, opening or reading it fails with DataLoss (kClusterLogRot).
// Files that are shorter than that come from a backup, and grow again. Appending and syncing are
// for one thread, reading is thread-safe.
#pragma once

#include "ledger/disk.h"
#include "ledger/shard_head.h"
#include "ledger/tree_reader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace gcoord::ledger {

class ClusterLog final : public TreeReader {
 public:
  // Opens or creates the log; the disk outlives it. The first `durable_size` leaves were synced
  // (signer_state.h knows): as far as they are there they are whole, or it is DataLoss
  // (kClusterLogRot).
  static Result<std::unique_ptr<ClusterLog>> open(Disk& disk, std::uint64_t durable_size);

  // Failures are the disk's, and final.
  Status append(std::span<const ShardHead> leaves);
  Status sync();

  std::uint64_t size() const override;

  std::uint64_t first() const override { return 0; }

  Result<std::vector<MerkleHash>> hashes(std::uint32_t level,
                                         std::uint64_t index,
                                         std::size_t count) const override;
  Result<std::vector<std::vector<std::byte>>> entries(std::uint64_t index,
                                                      std::size_t count) const override;

 private:
  ClusterLog() = default;

  Status load_tiles(std::uint64_t leaf_count);
  Status load_tail(std::uint64_t leaf_count, std::uint64_t durable_size);
  Status close_tile(std::uint64_t tile);
  void push_tile(const MerkleHash& root);
  Result<std::vector<MerkleHash>> leaf_hashes(std::uint64_t index, std::uint64_t count) const;
  Result<MerkleHash> subtree(std::uint32_t level, std::uint64_t index) const;
  Result<std::vector<std::byte>> read_leaves(std::uint64_t index, std::uint64_t count) const;

  mutable std::mutex mutex_;  // Of everything below.
  std::unique_ptr<DiskFile> leaves_;
  std::unique_ptr<DiskFile> tiles_;
  std::uint64_t size_ = 0;
  std::vector<std::vector<MerkleHash>> upper_;  // Levels from that of a tile's root on.
};

}  // namespace gcoord::ledger
