// Trees that follow the logs of many shards while others write them: on the device that has both.
//
// What: whoever decides says of every shard up to where its log is decided, and keeps the entries
// that are not in the tree yet. Chunks of neighbouring shards are dealt to blocks of threads, for
// good. A block looks at what its shards decided since, hashes that (merkle_turn.h) and says up to
// where their trees reach: the log itself is the journal between the two, no entry is copied, and
// neither side waits for the other here. Whoever decides holds back when his log is full.
// Why a chunk waits: levels of a few leaves leave most threads idle, so what a chunk has is left
// until it is worth a pass or one of its shards has much, for kFollowPatienceNs at most.
// The log is a POD:
//
//   uint64_t decided(shard)             leaves that the tree may have now, with their entries
//                                       visible from then on; kNoTree: the shard is left alone
//   void hashed(shard, size)            after the last look at the entries before it
//   Sha256Words leaf(shard, index)      of the entry that is leaf `index`, from 0
//   uint32_t pressing()                 leaves of one shard that do not wait: its log fills up
//   bool ends()                         leave once nothing is left to hash
//
// Contract: a block of threads calls each function together. `table.size` is changed by hashed()
// alone. Equal logs give equal trees whatever the blocks and the times. POD views; host and device.
#pragma once

#include "common/device/memory_device.h"
#include "common/hd.h"
#include "ledger/trees/turn.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::ledger {

// A shard that has no tree: it did not begin with the first entry.
inline constexpr std::uint64_t kNoTree = ~std::uint64_t{0};

// Leaves that one pass takes of one shard; the rest is for the next one.
inline constexpr std::uint32_t kFollowRunMax = 32;

// Leaves that are worth a pass: 32 for every thread of a block on a device. While a block hashes
// 3,700 at a time a multiprocessor of an H200 does 130 M compressions a second, with 320 to 500 of
// them 55 to 65.
inline constexpr std::uint32_t kFollowLeavesMin = 4096;

// Nothing that is decided stays out of the trees longer than this and a pass: little of the second
// that an entry may take to a signed checkpoint.
inline constexpr std::uint64_t kFollowPatienceNs = 10'000'000;

// A pause of a block that found nothing worth a pass in a chunk: short beside what it takes until
// there is, and long enough that thousands of threads that look leave the caches to turns.
inline constexpr std::uint32_t kFollowPauseNs = 10'000;

// A constant bound on passes: hours, at the shortest pause.
inline constexpr std::uint64_t kFollowPassesMax = std::uint64_t{1} << 42;

inline constexpr std::uint32_t kFollowPlaces = kMerkleBlockRuns * (kFollowRunMax + 1);
inline constexpr std::uint32_t kFollowKept =
    kMerkleBlockRuns * kFollowRunMax / ((1u << kKeptLevels) - 1) +
    kMerkleBlockRuns * (kMerkleLevelsMax / kKeptLevels);

// What one block hashes in; nothing outlives a chunk. Kept nodes are counted and left to the next.
struct FollowScratch {
  Sha256Words level[3][kFollowPlaces];
  KeptNode kept[kFollowKept];
  std::uint32_t kept_count;
};

// What one block did. One writer; brought up to date when the block leaves.
struct FollowCounts {
  std::uint64_t passes = 0;  // Over all of its chunks.
  std::uint64_t chunks = 0;  // In which something was hashed.
  std::uint64_t leaves = 0;
  std::uint64_t nodes = 0;
  std::uint64_t busy_ns = 0;  // In chunks in which something was hashed,
  std::uint64_t life_ns = 0;  // of so many altogether.
};

struct MerkleFollower {
  MerkleTable table;
  std::uint32_t block_count = 0;
  FollowScratch* scratch = nullptr;  // [block]
  FollowCounts* counts = nullptr;    // [block]
  Sha256Words* root = nullptr;       // [shard]: as somebody folded them last.
  std::uint64_t life_ns = 0;         // Leave so long after the start at the latest; 0: never.
};

// What the threads of a block share.
struct FollowBlock {
  MerkleBlock merkle;
  FollowCounts counts;
  std::uint64_t now_ns;
  std::uint32_t ends;
  std::uint32_t pressed;  // The last visit that found a shard which does not wait; from 1.
};

// One look of a block at one of its chunks.
struct FollowVisit {
  std::uint32_t first;   // Shard of the chunk.
  std::uint32_t number;  // Of the block's visits, from 1.
  bool all;              // Whatever there is, however little.
};

// --- Memory

// Carves a follower's columns, or adds up what they take: `arena` has column<T>(count).
template <typename Arena>
MerkleFollower carve_follower(Arena& arena,
                              std::uint32_t shard_count,
                              std::uint32_t levels,
                              std::uint32_t block_count) {
  MerkleFollower follower;
  follower.table.shard_count = shard_count;
  follower.table.levels = levels;
  follower.table.size = arena.template column<std::uint64_t>(shard_count);
  follower.table.peak =
      arena.template column<Sha256Words>(static_cast<std::size_t>(levels) * shard_count);
  follower.block_count = block_count;
  follower.scratch = arena.template column<FollowScratch>(block_count);
  follower.counts = arena.template column<FollowCounts>(block_count);
  follower.root = arena.template column<Sha256Words>(shard_count);
  return follower;
}

// --- One chunk

// The leaves of a block's spans, as the log knows them.
template <typename Log>
struct LogLeaves {
  const Log& log;

  GCOORD_HD Sha256Words hash(const MerkleSpan& span, std::uint32_t k) const {
    return log.leaf(span.shard, span.size + k);
  }
};

GCOORD_HD inline MerkleTurn scratch_turn(const MerkleFollower& follower, FollowScratch& scratch) {
  MerkleTurn turn;
  turn.table = follower.table;
  turn.leaf_hashes = scratch.level[0];
  turn.nodes[0] = scratch.level[2];
  turn.nodes[1] = scratch.level[1];
  turn.kept = scratch.kept;
  turn.kept_count = &scratch.kept_count;
  return turn;
}

// What the shards of a chunk have to add, at most kFollowRunMax each; all of them together.
template <typename Log>
GCOORD_HD std::uint32_t take_spans(const MerkleFollower& follower,
                                   const Log& log,
                                   const FollowVisit& visit,
                                   std::uint32_t run_count,
                                   FollowBlock& shared) {
  MerkleBlock& block = shared.merkle;
  for (std::uint32_t run = block_rank(); run < run_count; run += block_threads()) {
    const std::uint32_t shard = visit.first + run;
    const std::uint64_t size = follower.table.size[shard];
    const std::uint64_t decided = log.decided(shard);
    const std::uint64_t left = decided == kNoTree || decided < size ? 0 : decided - size;
    const auto count = static_cast<std::uint32_t>(left < kFollowRunMax ? left : kFollowRunMax);
    GCOORD_ASSERT((size + count) >> follower.table.levels == 0);
    block.span[run] = {size, count, shard, 0, 0};
    if (left >= log.pressing()) {
      shared.pressed = visit.number;
    }
  }
  block_meet();
  return count_level(block, run_count, 0);
}

// Hashes what the visited chunk has, if it is worth it or all of it is wanted. What it added.
template <typename Log>
GCOORD_HD std::uint32_t follow_chunk(const MerkleFollower& follower,
                                     const Log& log,
                                     const FollowVisit& visit,
                                     FollowScratch& scratch,
                                     FollowBlock& shared) {
  MerkleBlock& block = shared.merkle;
  const std::uint32_t left = follower.table.shard_count - visit.first;
  const std::uint32_t run_count = left < kMerkleBlockRuns ? left : kMerkleBlockRuns;
  const std::uint32_t total = take_spans(follower, log, visit, run_count, shared);
  const bool worth = visit.all || total >= kFollowLeavesMin || shared.pressed == visit.number;
  block_meet();  // Before the next visit's shards press.
  if (total == 0 || !worth) {
    device_pause(kFollowPauseNs);
    return 0;
  }
  const std::uint64_t began_ns = device_now_ns();
  for (std::uint32_t run = block_rank(); run < run_count; run += block_threads()) {
    block.span[run].place = block.first[run] + run;
  }
  if (block_rank() == 0) {
    scratch.kept_count = 0;
  }
  block_meet();
  const MerkleTurn turn = scratch_turn(follower, scratch);
  const std::uint32_t nodes = append_spans(turn, block, run_count, total, LogLeaves<Log>{log});
  block_meet();
  for (std::uint32_t run = block_rank(); run < run_count; run += block_threads()) {
    const MerkleSpan& span = block.span[run];
    if (span.count != 0) {
      log.hashed(span.shard, span.end());
    }
  }
  if (block_rank() == 0) {
    FollowCounts& counts = shared.counts;
    ++counts.chunks;
    counts.leaves += total;
    counts.nodes += nodes;
    counts.busy_ns += device_now_ns() - began_ns;
  }
  block_meet();
  return total;
}

// --- All of them

// One pass over the chunks of a block, after `visits` of them. What it added.
template <typename Log>
GCOORD_HD std::uint64_t follow_pass(const MerkleFollower& follower,
                                    const Log& log,
                                    std::uint32_t block_index,
                                    bool all,
                                    std::uint32_t& visits,
                                    FollowBlock& shared) {
  std::uint64_t total = 0;
  const std::uint64_t stride = std::uint64_t{follower.block_count} * kMerkleBlockRuns;
  for (std::uint64_t first = std::uint64_t{block_index} * kMerkleBlockRuns;
       first < follower.table.shard_count;
       first += stride) {
    const FollowVisit visit = {static_cast<std::uint32_t>(first), ++visits, all};
    total += follow_chunk(follower, log, visit, follower.scratch[block_index], shared);
  }
  if (block_rank() == 0) {
    ++shared.counts.passes;
  }
  return total;
}

// What one thread reads for all of its block.
template <typename Log>
GCOORD_HD void look_up(const Log& log, FollowBlock& shared) {
  block_meet();
  if (block_rank() == 0) {
    shared.now_ns = device_now_ns();
    shared.ends = log.ends() ? 1 : 0;
  }
  block_meet();
}

// Follows until it is told to end and nothing is left, or its time is over.
template <typename Log>
GCOORD_HD void follow(const MerkleFollower& follower,
                      const Log& log,
                      std::uint32_t block_index,
                      FollowBlock& shared) {
  if (block_rank() == 0) {
    shared.counts = follower.counts[block_index];
    shared.pressed = 0;
  }
  look_up(log, shared);
  const std::uint64_t began_ns = shared.now_ns;
  std::uint64_t all_ns = began_ns;  // When all was last taken.
  std::uint32_t visits = 0;
  for (std::uint64_t pass = 0; pass < kFollowPassesMax; ++pass) {
    look_up(log, shared);
    const std::uint64_t now_ns = shared.now_ns;
    const bool ends = shared.ends != 0;
    const bool all = ends || now_ns - all_ns >= kFollowPatienceNs;
    all_ns = all ? now_ns : all_ns;
    const std::uint64_t added = follow_pass(follower, log, block_index, all, visits, shared);
    const bool overdue = follower.life_ns != 0 && now_ns - began_ns >= follower.life_ns;
    if (overdue || (ends && added == 0)) {
      break;
    }
  }
  look_up(log, shared);
  if (block_rank() == 0) {
    shared.counts.life_ns += shared.now_ns - began_ns;
    follower.counts[block_index] = shared.counts;
  }
}

}  // namespace gcoord::ledger
