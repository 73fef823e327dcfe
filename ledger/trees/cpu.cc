#include "ledger/trees/cpu.h"

#include "common/device/prefetch.h"
#include "common/tables/column_arena.h"
#include "ledger/trees/leaf_pairs.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace gcoord::ledger {
namespace {

// Leaves that are hashed already.
struct HashedLeaves {
  std::span<const Sha256Words> hashes;
  std::uint32_t first;  // Of MerkleTurn::leaves: whose hash is the first.

  Sha256Words hash(const MerkleSpan& span, std::uint32_t k) const {
    return hashes[span.leaf - first + k];
  }
};

class CpuMerkleDevice final : public MerkleDevice {
 public:
  Result<std::byte*> reserve(std::size_t bytes, std::size_t dense_bytes) override {
    arena_ = std::make_unique<ColumnArena>(bytes, dense_bytes);
    return arena_->column<std::byte>(bytes);
  }

  Status copy_in(void* to, const void* from, std::size_t bytes) override {
    return copy(to, from, bytes);
  }

  Status copy_out(void* to, const void* from, std::size_t bytes) override {
    return copy(to, from, bytes);
  }

  Status append(const MerkleTurn& turn) override {
    *turn.kept_count = 0;
    for (std::uint32_t run = 0; run < turn.run_count; run += kMerkleBlockRuns) {
      want_block(turn, run);
      append_block(turn, run);
    }
    return {};
  }

  Status fold_roots(const MerkleTurn& turn, Sha256Words* roots) override {
    for (std::uint32_t run = 0; run < turn.run_count; ++run) {
      roots[run] = root_words(turn.table, turn.run_shard[run]);
    }
    return {};
  }

 private:
  // Has the block's trees brought into the cache, all at once: they lie anywhere in a table of many
  // megabytes, and hashing would wait for one after the other.
  static void want_block(const MerkleTurn& turn, std::uint32_t first_run) {
    const std::uint32_t end = std::min(turn.run_count, first_run + kMerkleBlockRuns);
    for (std::uint32_t run = first_run; run < end; ++run) {
      prefetch(&turn.table.size[turn.run_shard[run]]);
    }
    for (std::uint32_t run = first_run; run < end; ++run) {
      const std::uint32_t shard = turn.run_shard[run];
      const std::uint64_t before = turn.table.size[shard];
      const std::uint64_t after = before + (turn.run_first[run + 1] - turn.run_first[run]);
      for (std::uint32_t level = 0; before >> level != after >> level; ++level) {
        prefetch(&turn.table.peak_of(level, shard));
      }
    }
  }

  struct NewNode {
    const MerkleSpan* span;
    std::uint32_t level;
    std::uint64_t index;
  };

  // As append_runs, by one thread, with leaves and nodes two at a time.
  void append_block(const MerkleTurn& turn, std::uint32_t first_run) {
    MerkleBlock& block = *block_;
    const std::uint32_t run_count = std::min(turn.run_count - first_run, kMerkleBlockRuns);
    for (std::uint32_t run = 0; run < run_count; ++run) {
      take_span(turn, first_run + run, block.span[run]);
    }
    const std::uint32_t first = turn.run_first[first_run];
    const std::uint32_t total = count_level(block, run_count, 0);
    leaves_.resize(total);
    hash_leaf_pairs(turn.payload, {turn.leaves + first, total}, leaves_);
    hash_leaves(turn, block, run_count, total, HashedLeaves{leaves_, first});
    for (std::uint32_t level = 1; level < turn.table.levels; ++level) {
      gather_level(run_count, level);
      if (nodes_.empty()) {
        break;
      }
      hash_nodes(turn);
    }
    for (std::uint32_t run = 0; run < run_count; ++run) {
      turn.table.size[block.span[run].shard] = block.span[run].end();
    }
  }

  void gather_level(std::uint32_t run_count, std::uint32_t level) {
    nodes_.clear();
    for (const MerkleSpan& span : std::span{block_->span}.first(run_count)) {
      for (std::uint64_t index = span.size >> level; index < span.end() >> level; ++index) {
        nodes_.push_back({&span, level, index});
      }
    }
  }

  void hash_nodes(const MerkleTurn& turn) const {
    const auto children = [&turn](const NewNode& node) {
      const std::uint32_t below = node.level - 1;
      return level_hashes(turn, below) + node_place(*node.span, below, 2 * node.index);
    };
    std::size_t k = 0;
    for (; k + 1 < nodes_.size(); k += 2) {
      Sha256Words hashes[2];
      hash_node_pair({{children(nodes_[k]), children(nodes_[k + 1])}}, hashes);
      settle_node(turn, nodes_[k], hashes[0]);
      settle_node(turn, nodes_[k + 1], hashes[1]);
    }
    if (k < nodes_.size()) {
      const Sha256Words* pair = children(nodes_[k]);
      settle_node(turn, nodes_[k], hash_node_words(pair[0], pair[1]));
    }
  }

  static void settle_node(const MerkleTurn& turn, const NewNode& node, const Sha256Words& hash) {
    level_hashes(turn, node.level)[node_place(*node.span, node.level, node.index)] = hash;
    if (node.index + 1 == node.span->end() >> node.level) {
      change_peak(turn, *node.span, node.level, hash);
    }
    if (node.level % kKeptLevels == 0) {
      keep_node(turn, *node.span, node.level, node.index, hash);
    }
  }

  static Status copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) {
      std::memcpy(to, from, bytes);
    }
    return {};
  }

  std::unique_ptr<ColumnArena> arena_;
  std::vector<Sha256Words> leaves_;  // Of a block; kept warm.
  std::vector<NewNode> nodes_;       // Of a level of a block; kept warm.
  std::unique_ptr<MerkleBlock> block_ = std::make_unique<MerkleBlock>();
};

}  // namespace

std::unique_ptr<MerkleDevice> make_cpu_merkle_device() {
  return std::make_unique<CpuMerkleDevice>();
}

}  // namespace gcoord::ledger
