#include "chaos/device_turn/tree_check.h"

#include "ledger/trees/cpu.h"
#include "ledger/trees/trees.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::chaos {
namespace {

using server::kTurnNodes;

// Leaves that the CPU's trees are given at a time.
constexpr std::uint32_t kPieceLeaves = 4096;
constexpr std::size_t kRecordBytes = sizeof(CountedRecord);

struct Trees {
  std::vector<std::uint64_t> decided;
  std::vector<std::uint64_t> hashed;
  std::vector<Sha256Words> root;
};

Status wrong(std::size_t shard, const std::string& what) {
  return {StatusCode::Internal, "tree of shard " + std::to_string(shard) + ": " + what};
}

Result<std::vector<Trees>> trees_of(TurnCluster& cluster) {
  std::vector<Trees> all(kTurnNodes);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    GCOORD_TRY(all[n].decided, cluster.decided(n));
    GCOORD_TRY(all[n].hashed, cluster.hashed(n));
    GCOORD_TRY(all[n].root, cluster.roots(n));
  }
  return all;
}

bool has_trees(const std::vector<Trees>& all, std::size_t shard) {
  return std::ranges::none_of(
      all, [shard](const Trees& one) { return one.decided[shard] == ledger::kNoTree; });
}

Status check_shard(const std::vector<Trees>& all, std::size_t shard) {
  for (const Trees& one : all) {
    if (one.hashed[shard] != one.decided[shard]) {
      return wrong(shard,
                   std::to_string(one.hashed[shard]) + " leaves of " +
                       std::to_string(one.decided[shard]) + " that were decided");
    }
    if (one.hashed[shard] != all[0].hashed[shard]) {
      return wrong(shard, "replicas have applied unequally much");
    }
    if (!(one.root[shard] == all[0].root[shard])) {
      return wrong(shard, "replicas have different roots");
    }
  }
  return {};
}

// --- Made again

// The node that led the shard while all of its entries but the first no-op were proposed.
std::optional<std::uint32_t> only_leader(const TurnCluster& cluster,
                                         std::uint32_t shard,
                                         const CountedRow& row,
                                         std::uint64_t size) {
  if (row.count + 1 != size) {
    return std::nullopt;
  }
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    std::uint64_t digest = 0;
    for (std::uint64_t index = 2; index <= size; ++index) {
      const CountedEntry entry = cluster.node(n).service.offer(shard, LogIndex{index}, 0);
      digest = mix64(digest ^ entry.word[0]) ^ entry.word[1];
    }
    if (digest == row.digest) {
      return n;
    }
  }
  return std::nullopt;
}

// The root of the CPU's tree over the entries of a shard, given piece by piece.
Result<Sha256Words> root_again(const TurnCluster& cluster,
                               std::uint32_t shard,
                               std::uint32_t leader,
                               std::uint64_t size) {
  GCOORD_TRY(const auto trees,
             ledger::MerkleTrees::make(ledger::make_cpu_merkle_device(),
                                       {.shard_count = 1,
                                        .levels = cluster.options().tree_levels,
                                        .leaves_max = kPieceLeaves,
                                        .payload_bytes_max = kPieceLeaves * kRecordBytes}));
  const std::uint32_t run_shard = 0;
  std::vector<CountedRecord> records;
  std::vector<ledger::LeafExtent> leaves;
  for (std::uint64_t index = 1; index <= size; ++index) {
    const CountedEntry entry = index == 1
                                   ? CountingService::noop()
                                   : cluster.node(leader).service.offer(shard, LogIndex{index}, 0);
    leaves.push_back({records.size() * kRecordBytes, ledger::kOneBlockRecordBytes});
    records.push_back(record_of(shard, index, entry));
    if (records.size() == kPieceLeaves || index == size) {
      const std::uint32_t first[2] = {0, static_cast<std::uint32_t>(records.size())};
      GCOORD_TRY_STATUS(trees->take(
          {std::span{&run_shard, 1}, first, leaves, std::as_bytes(std::span{records})}));
      GCOORD_TRY_STATUS(trees->append());
      records.clear();
      leaves.clear();
    }
  }
  GCOORD_TRY_STATUS(trees->fold_roots());
  GCOORD_TRY(const auto roots, trees->roots());
  return roots.front();
}

Status check_again(const TurnCluster& cluster,
                   const Trees& trees,
                   const CountedRow& row,
                   std::uint32_t shard,
                   TreeVerdict& verdict) {
  const std::uint64_t size = trees.hashed[shard];
  const auto leader = only_leader(cluster, shard, row, size);
  if (!leader.has_value()) {
    ++verdict.several_leaders;
    return {};
  }
  GCOORD_TRY(const Sha256Words root, root_again(cluster, shard, *leader, size));
  if (!(root == trees.root[shard])) {
    return wrong(shard, "its root is not that of the CPU's tree over the same entries");
  }
  ++verdict.hashed_again;
  verdict.leaves_again += size;
  return {};
}

// Shards far apart, as many as the options allow.
std::vector<std::uint32_t> sample_of(const std::vector<Trees>& all,
                                     const TreeCheckOptions& options) {
  const auto shards = static_cast<std::uint32_t>(all[0].hashed.size());
  const std::uint32_t stride = (shards - 1) / options.shards_max + 1;
  std::vector<std::uint32_t> sample;
  std::uint64_t leaves = 0;
  for (std::uint32_t shard = 0; shard < shards && leaves < options.leaves_max; shard += stride) {
    if (has_trees(all, shard)) {
      sample.push_back(shard);
      leaves += all[0].hashed[shard];
    }
  }
  return sample;
}

// One thread's part of the sample.
struct Part {
  TreeVerdict verdict;
  Status status;
};

}  // namespace

Result<TreeVerdict> check_trees(TurnCluster& cluster, const TreeCheckOptions& options) {
  GCOORD_TRY(const std::vector<Trees> all, trees_of(cluster));
  GCOORD_TRY(const auto rows, cluster.service_rows(0));
  TreeVerdict verdict;
  for (std::size_t shard = 0; shard < rows.size(); ++shard) {
    if (!has_trees(all, shard)) {
      ++verdict.without_tree;
      continue;
    }
    GCOORD_TRY_STATUS(check_shard(all, shard));
    ++verdict.shards;
    verdict.leaves += all[0].hashed[shard];
  }
  const std::vector<std::uint32_t> sample = sample_of(all, options);
  std::vector<Part> parts(options.threads);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 0; k < options.threads; ++k) {
      threads.emplace_back([&, k] {
        for (std::size_t at = k; at < sample.size() && parts[k].status.ok();
             at += options.threads) {
          const std::uint32_t shard = sample[at];
          parts[k].status = check_again(cluster, all[0], rows[shard], shard, parts[k].verdict);
        }
      });
    }
  }
  for (const Part& part : parts) {
    GCOORD_TRY_STATUS(part.status);
    verdict.hashed_again += part.verdict.hashed_again;
    verdict.leaves_again += part.verdict.leaves_again;
    verdict.several_leaders += part.verdict.several_leaders;
  }
  return verdict;
}

}  // namespace gcoord::chaos
