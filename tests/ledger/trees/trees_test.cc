// The trees of many shards against RFC 6962's own recursive definition, entry by entry; on the CPU
// everywhere and on a GPU where there is one.
#include "ledger/trees/trees.h"

#include "common/random.h"
#include "ledger/merkle/hash.h"
#include "ledger/trees/cpu.h"
#include "ledger/trees/cuda.h"
#include "ledger/trees/leaf_pairs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace gcoord::ledger {
namespace {

using Entry = std::vector<std::byte>;

MerkleHash bytes_of(const Sha256Words& words) {
  MerkleHash hash;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    hash[i] = static_cast<std::byte>(words.word[i / 4] >> (24 - 8 * (i % 4)));
  }
  return hash;
}

// MTH of RFC 6962, section 2.1.
MerkleHash tree_hash(std::span<const Entry> entries) {
  if (entries.empty()) {
    return empty_root();
  }
  if (entries.size() == 1) {
    return hash_leaf(entries[0]);
  }
  std::size_t split = 1;
  while (2 * split < entries.size()) {
    split *= 2;
  }
  return hash_node(tree_hash(entries.first(split)), tree_hash(entries.subspan(split)));
}

Entry random_entry(std::uint64_t seed, std::uint64_t number, std::uint32_t length) {
  Entry entry(length);
  for (std::uint32_t i = 0; i < length; ++i) {
    entry[i] = static_cast<std::byte>(random64(seed, number, i));
  }
  return entry;
}

// The entries of one turn, and what take() is given of them.
class Turn {
 public:
  void add(std::uint32_t shard, const std::vector<Entry>& entries) {
    shard_.push_back(shard);
    for (const Entry& entry : entries) {
      leaves_.push_back({payload_.size(), static_cast<std::uint32_t>(entry.size())});
      payload_.insert(payload_.end(), entry.begin(), entry.end());
      payload_.resize((payload_.size() + 3) / 4 * 4, std::byte{0xee});
    }
    first_.push_back(static_cast<std::uint32_t>(leaves_.size()));
  }

  MerkleRuns runs() const { return {shard_, first_, leaves_, payload_}; }

  std::vector<std::uint32_t> shard_;
  std::vector<std::uint32_t> first_{0};
  std::vector<LeafExtent> leaves_;
  std::vector<std::byte> payload_;
};

enum class Kind { Cpu, Cuda };

class MerkleTreesTest : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::Cpu) {
      return;
    }
    const auto device = make_cuda_merkle_device(0);
    if (!device.ok()) {
      GTEST_SKIP() << "skipped: " << device.status().message();
    }
  }

  static std::unique_ptr<MerkleTrees> make(const MerkleLimits& limits) {
    auto device = make_cpu_merkle_device();
    if (GetParam() == Kind::Cuda) {
      device = make_cuda_merkle_device(0).value();
    }
    auto trees = MerkleTrees::make(std::move(device), limits);
    EXPECT_TRUE(trees.ok()) << trees.status().message();
    return std::move(trees).value();
  }

  static void append(MerkleTrees& trees, const Turn& turn) {
    const Status taken = trees.take(turn.runs());
    ASSERT_TRUE(taken.ok()) << taken.message();
    const Status appended = trees.append();
    ASSERT_TRUE(appended.ok()) << appended.message();
    const Status folded = trees.fold_roots();
    ASSERT_TRUE(folded.ok()) << folded.message();
  }
};

INSTANTIATE_TEST_SUITE_P(On,
                         MerkleTreesTest,
                         testing::Values(Kind::Cpu, Kind::Cuda),
                         [](const auto& kind) { return kind.param == Kind::Cpu ? "Cpu" : "Cuda"; });

// Several blocks of runs, trees of every shape beside each other, in turns of every size.
TEST_P(MerkleTreesTest, RootsAreThoseOfTheDefinition) {
  constexpr std::uint32_t kShards = 600;
  const auto trees = make({.shard_count = kShards, .leaves_max = 1u << 14});
  std::vector<std::vector<Entry>> history(kShards);
  std::uint64_t number = 0;
  for (std::uint64_t round = 0; round < 24; ++round) {
    Turn turn;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::uint64_t random = random64(round, 1, shard);
      const std::uint32_t count = random_below(random, shard % 7 == 0 ? 40 : 4);
      std::vector<Entry> entries;
      for (std::uint32_t k = 0; k < count; ++k, ++number) {
        entries.push_back(random_entry(7, number, random_below(random64(8, 0, number), 150)));
      }
      if (count != 0) {
        turn.add(shard, entries);
        history[shard].insert(history[shard].end(), entries.begin(), entries.end());
      }
    }
    append(*trees, turn);
    const auto roots = trees->roots().value();
    ASSERT_EQ(roots.size(), turn.shard_.size());
    for (std::size_t run = 0; run < roots.size(); ++run) {
      const auto& entries = history[turn.shard_[run]];
      ASSERT_EQ(trees->size(turn.shard_[run]), entries.size());
      ASSERT_EQ(bytes_of(roots[run]), tree_hash(entries))
          << "shard " << turn.shard_[run] << " of size " << entries.size();
    }
  }
}

// One block of SHA-256 up to 54 bytes, then more: the ends of blocks are where padding goes wrong.
TEST_P(MerkleTreesTest, LeavesOfEveryLengthAreThoseOfTheDefinition) {
  const auto trees = make({.shard_count = 2});
  Turn turn;
  std::vector<Entry> entries;
  for (std::uint32_t length = 0; length <= 260; ++length) {
    entries.push_back(random_entry(3, length, length));
  }
  turn.add(1, {entries[0]});
  append(*trees, turn);
  Turn rest;
  rest.add(0, {entries[5]});
  rest.add(1, {entries.begin() + 1, entries.end()});
  append(*trees, rest);
  const auto hashes = trees->leaf_hashes().value();
  ASSERT_EQ(hashes.size(), entries.size());
  EXPECT_EQ(bytes_of(hashes[0]), hash_leaf(entries[5]));
  for (std::size_t k = 1; k < entries.size(); ++k) {
    EXPECT_EQ(bytes_of(hashes[k]), hash_leaf(entries[k])) << "length " << k;
  }
}

// What tiles begin with: every node of level 8 and 16, once, in the turn that completes it.
TEST_P(MerkleTreesTest, NodesOfEveryEighthLevelAreKept) {
  constexpr std::uint32_t kLeaves = 70'000;
  const auto trees = make({.shard_count = 3, .leaves_max = kLeaves});
  std::vector<Entry> entries;
  for (std::uint32_t k = 0; k < kLeaves; ++k) {
    entries.push_back(random_entry(5, k, 8));
  }
  std::vector<KeptNode> kept;
  std::uint32_t begin = 0;
  for (const std::uint32_t count : {1u, 254u, 2u, 600u, 1u, 64'000u, 5'142u}) {
    Turn turn;
    turn.add(2, {entries.begin() + begin, entries.begin() + begin + count});
    append(*trees, turn);
    const auto nodes = trees->kept().value();
    kept.insert(kept.end(), nodes.begin(), nodes.end());
    begin += count;
  }
  ASSERT_EQ(begin, kLeaves);
  std::uint64_t next[2] = {};
  for (const KeptNode& node : kept) {
    ASSERT_TRUE(node.level == 8 || node.level == 16);
    ASSERT_EQ(node.shard, 2u);
    ASSERT_EQ(node.index, next[node.level / 16]++);
    const std::size_t width = std::size_t{1} << node.level;
    EXPECT_EQ(bytes_of(node.hash),
              tree_hash(std::span{entries}.subspan(node.index * width, width)));
  }
  EXPECT_EQ(next[0], kLeaves / 256);
  EXPECT_EQ(next[1], kLeaves / 65'536);
}

TEST_P(MerkleTreesTest, WhatNoTreeTakesIsRefusedAndChangesNothing) {
  const auto trees =
      make({.shard_count = 4, .levels = 3, .leaves_max = 16, .payload_bytes_max = 64});
  Turn good;
  good.add(1, {random_entry(1, 1, 5), random_entry(1, 2, 6)});
  append(*trees, good);
  const auto code_of = [&](const Turn& turn) { return trees->take(turn.runs()).code(); };
  Turn unknown = good;
  unknown.shard_[0] = 4;
  EXPECT_EQ(code_of(unknown), StatusCode::InvalidArgument);
  Turn twice = good;
  twice.add(1, {random_entry(1, 3, 4)});
  EXPECT_EQ(code_of(twice), StatusCode::InvalidArgument);
  Turn without = good;
  without.add(2, {});
  EXPECT_EQ(code_of(without), StatusCode::InvalidArgument);
  Turn outside = good;
  outside.leaves_[1].length = 1000;
  EXPECT_EQ(code_of(outside), StatusCode::InvalidArgument);
  Turn odd = good;
  odd.leaves_[1].offset = 2;
  EXPECT_EQ(code_of(odd), StatusCode::InvalidArgument);
  Turn long_payload = good;
  long_payload.payload_.resize(65);
  EXPECT_EQ(code_of(long_payload), StatusCode::ResourceExhausted);
  EXPECT_EQ(trees->size(1), 2u);
  Turn six;
  six.add(1, std::vector<Entry>(6));
  ASSERT_TRUE(trees->take(six.runs()).ok());
  EXPECT_EQ(trees->append().code(),
            StatusCode::ResourceExhausted);  // 8 leaves need a fourth level.
  EXPECT_EQ(trees->size(1), 2u);
  EXPECT_EQ(trees->leaf_hashes().status().code(), StatusCode::FailedPrecondition);
  append(*trees, good);
  EXPECT_EQ(trees->size(1), 4u);
}

// Every length around the ends of blocks, beside every other kind of neighbour, and one alone.
TEST(LeafPairs, AreTheHashesOfTheLeavesOneByOne) {
  std::vector<std::byte> payload;
  std::vector<LeafExtent> leaves;
  for (std::uint32_t k = 0; k < 401; ++k) {
    const std::uint32_t length = k < 201 ? k : random_below(random64(5, 0, k), 4097);
    const Entry entry = random_entry(5, k, length);
    leaves.push_back({payload.size(), length});
    payload.insert(payload.end(), entry.begin(), entry.end());
    payload.resize((payload.size() + 3) / 4 * 4, std::byte{0xee});
  }
  std::vector<Sha256Words> hashes(leaves.size());
  hash_leaf_pairs(payload.data(), leaves, hashes);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    ASSERT_TRUE(hashes[k] == hash_leaf_words(payload.data(), leaves[k])) << leaves[k].length;
  }
}

TEST(LeafPairs, TwoNodesSideBySideHaveTheHashesThatEachHasAlone) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sha256Words children[2][2] = {};
    for (std::uint64_t k = 0; k < 4; ++k) {
      for (std::uint32_t i = 0; i < 8; ++i) {
        children[k / 2][k % 2].word[i] = static_cast<std::uint32_t>(random64(seed, k, i));
      }
    }
    Sha256Words hashes[2];
    hash_node_pair({{children[0], children[1]}}, hashes);
    for (std::size_t node = 0; node < 2; ++node) {
      EXPECT_EQ(bytes_of(hashes[node]),
                hash_node(bytes_of(children[node][0]), bytes_of(children[node][1])));
    }
  }
}

}  // namespace
}  // namespace gcoord::ledger
