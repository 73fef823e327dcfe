#include "bench/ledger/proofs.h"

#include "bench/report/results_file.h"
#include "cli/ledger/proof_check.h"
#include "cli/ledger/proof_file.h"
#include "common/random.h"
#include "ledger/merkle/memory_tree.h"
#include "ledger/merkle/proof.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/shard_head.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace gcoord::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kEntryBytes = 54;  // Of common commands.
constexpr std::uint64_t kProofs = 1024;  // Different ones, taken in turns.
constexpr std::uint64_t kShardLeaves = 65'536;
constexpr std::uint64_t kHeads = 1024;
constexpr std::uint32_t kNodes = 3;
constexpr std::uint64_t kCluster = 1;

std::vector<std::byte> random_entry(std::uint64_t number) {
  std::vector<std::byte> entry(kEntryBytes);
  for (std::size_t i = 0; i < entry.size(); ++i) {
    entry[i] = static_cast<std::byte>(random64(20261122, number, i / 8) >> (i % 8 * 8));
  }
  return entry;
}

// An entry in a tree of 2^levels leaves whose other hashes are drawn at random.
struct DrawnProof {
  std::vector<std::byte> entry;
  ledger::InclusionClaim claim;
  std::vector<ledger::MerkleHash> proof;

  DrawnProof(std::uint64_t number, std::uint32_t levels) : entry(random_entry(number)) {
    claim.tree_size = std::uint64_t{1} << levels;
    claim.leaf_index = random64(number, levels, 0) % claim.tree_size;
    claim.root = ledger::hash_leaf(entry);
    for (std::uint32_t level = 0; level < levels; ++level) {
      proof.push_back(ledger::hash_leaf(random_entry(number * 64 + level)));
      const bool right = (claim.leaf_index >> level & 1) != 0;
      claim.root = right ? ledger::hash_node(proof.back(), claim.root)
                         : ledger::hash_node(claim.root, proof.back());
    }
  }

  Status verify() const {
    ledger::InclusionClaim made = claim;
    made.leaf = ledger::hash_leaf(entry);
    return ledger::verify_inclusion(made, proof);
  }
};

// How often a second `verify` of 0, 1, ... succeeds; the first failure otherwise.
Result<double> rate_of(const BenchOptions& options,
                       const std::function<Status(std::uint64_t)>& verify) {
  const auto began = Clock::now();
  std::uint64_t count = 0;
  std::chrono::duration<double> took{0};
  while (took < options.measured) {
    for (std::uint64_t k = 0; k < kProofs; ++k) {
      GCOORD_TRY_STATUS(verify(k));
    }
    count += kProofs;
    took = Clock::now() - began;
  }
  return static_cast<double>(count) / took.count();
}

Result<Json> inclusion(const BenchOptions& options, std::uint32_t levels) {
  std::vector<DrawnProof> proofs;
  for (std::uint64_t k = 0; k < kProofs; ++k) {
    proofs.emplace_back(k, levels);
  }
  GCOORD_TRY(const double rate,
             rate_of(options, [&](std::uint64_t k) { return proofs[k].verify(); }));
  return Json{{"tree_leaves", std::to_string(std::uint64_t{1} << levels)},
              {"proof_hashes", levels},
              {"proofs_per_second", rounded(rate)}};
}

// A shard, a cluster log with its head, three nodes that sign.
struct Files {
  std::vector<std::string> text;
  cli::ProofTrust trust;

  static Result<Files> make() {
    ledger::MemoryTree shard;
    for (std::uint64_t k = 0; k < kShardLeaves; ++k) {
      shard.append(random_entry(k));
    }
    GCOORD_TRY(const auto root, ledger::root_at(shard, kShardLeaves));
    ledger::MemoryTree cluster;
    for (std::uint32_t head = 0; head < kHeads; ++head) {
      cluster.append(ledger::encode_head({ShardId{head}, kShardLeaves, root}));
    }
    Files files;
    ledger::CheckpointNote checkpoint{.origin = ledger::cluster_origin(kCluster), .size = kHeads};
    GCOORD_TRY(checkpoint.root, ledger::root_at(cluster, kHeads));
    ledger::SignedNote note{.text = ledger::checkpoint_text(checkpoint)};
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      ledger::NoteSeed seed{};
      seed.fill(static_cast<std::byte>(node));
      GCOORD_TRY(const auto signer,
                 ledger::NoteSigner::make(ledger::node_key_name(kCluster, node), seed));
      note.signatures.push_back(ledger::sign_note(signer, note.text));
      files.trust.keys.push_back(signer.key());
    }
    files.trust.quorum = cli::majority_of(kNodes);
    files.trust.origin = checkpoint.origin;
    for (std::uint64_t k = 0; k < kProofs; ++k) {
      const std::uint64_t index = random64(20261122, k, 0) % kShardLeaves;
      cli::EntryProof proof{.cluster = kCluster, .shard = static_cast<std::uint32_t>(k % kHeads)};
      proof.index = index;
      proof.entry = random_entry(index);
      proof.decoded = server::record_facts(proof.entry);
      proof.shard_size = kShardLeaves;
      proof.shard_root = root;
      proof.leaf_index = k % kHeads;
      proof.cluster_size = kHeads;
      proof.cluster_root = checkpoint.root;
      proof.checkpoint = ledger::print_note(note);
      GCOORD_TRY(proof.entry_inclusion, ledger::inclusion_proof(shard, index, kShardLeaves));
      GCOORD_TRY(proof.head_inclusion, ledger::inclusion_proof(cluster, k % kHeads, kHeads));
      files.text.push_back(cli::print_proof(proof));
    }
    return files;
  }
};

Result<Json> whole_files(const BenchOptions& options) {
  GCOORD_TRY(const Files files, Files::make());
  cli::ProofChecker checker(files.trust);
  const auto verify = [&](std::uint64_t k) -> Status {
    GCOORD_TRY(const cli::ReadProof read, cli::parse_proof_file(files.text[k]));
    return checker.check(read);
  };
  GCOORD_TRY(const double rate, rate_of(options, verify));
  return Json{{"bytes_each", files.text.front().size()},
              {"hashes_each", 26},
              {"files_per_second", rounded(rate)}};
}

}  // namespace

BenchResult bench_proofs(const BenchOptions& options) {
  Json result = {{"entry_bytes", kEntryBytes},
                 {"cores", 1},
                 {"acknowledged", "nothing: verification alone, proofs in memory"}};
  for (const std::uint32_t levels : {10u, 20u, 30u, 40u}) {
    GCOORD_TRY(const Json one, inclusion(options, levels));
    std::fprintf(stderr, "proofs: %s\n", one.dump().c_str());
    result["inclusion"].push_back(one);
  }
  GCOORD_TRY(result["files"], whole_files(options));
  std::fprintf(stderr, "proofs: %s\n", result["files"].dump().c_str());
  return result;
}

}  // namespace gcoord::bench
