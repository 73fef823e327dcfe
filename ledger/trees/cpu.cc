#include "ledger/trees/cpu.h"

#include "common/device/prefetch.h"
#include "common/tables/column_arena.h"

#include <algorithm>
#include <cstring>

namespace gcoord::ledger {
namespace {

class CpuMerkleDevice final : public MerkleDevice {
 public:
  Result<std::byte*> reserve(std::size_t bytes) override {
    arena_ = std::make_unique<ColumnArena>(bytes);
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
      append_runs(turn, run, *block_);
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

  static Status copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) {
      std::memcpy(to, from, bytes);
    }
    return {};
  }

  std::unique_ptr<ColumnArena> arena_;
  std::unique_ptr<MerkleBlock> block_ = std::make_unique<MerkleBlock>();
};

}  // namespace

std::unique_ptr<MerkleDevice> make_cpu_merkle_device() {
  return std::make_unique<CpuMerkleDevice>();
}

}  // namespace gcoord::ledger
