#include "cli/ledger/proof_making.h"

#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"
#include "ledger/notes/shard_note.h"

#include <charconv>
#include <string_view>

namespace gcoord::cli {
namespace {

constexpr std::string_view kOrigin = "gcoord/";

Result<std::uint64_t> cluster_of(const std::string& origin) {
  std::uint64_t cluster = 0;
  if (origin.starts_with(kOrigin)) {
    std::from_chars(origin.data() + kOrigin.size(), origin.data() + origin.size(), cluster);
  }
  if (ledger::cluster_origin(cluster) != origin) {
    return Status{StatusCode::DataLoss,
                  "'" + origin + "' is not the origin of a cluster's log",
                  ledger::kHeadOrigin};
  }
  return cluster;
}

// The inclusion of the shard's head in the cluster log.
Status prove_head(const OpenLog& shard, const OpenLog& cluster, EntryProof& proof) {
  GCOORD_TRY(const ledger::ClusterPosition place, ledger::cluster_place(shard.checkpoint));
  if (place.leaf_index >= cluster.checkpoint.size) {
    return Status{StatusCode::InvalidArgument,
                  "the shard's head is leaf " + std::to_string(place.leaf_index) +
                      " of a cluster log that has " + std::to_string(cluster.checkpoint.size) +
                      " leaves",
                  ledger::kLedgerBeyond};
  }
  const auto head =
      ledger::encode_head({ShardId{proof.shard}, shard.checkpoint.size, shard.checkpoint.root});
  GCOORD_TRY(const auto leaf, cluster.reader->hashes(0, place.leaf_index, 1));
  if (leaf.front() != ledger::hash_leaf(head)) {
    return Status{StatusCode::DataLoss,
                  "leaf " + std::to_string(place.leaf_index) +
                      " of the cluster log is not the "
                      "head of " +
                      shard.checkpoint.origin,
                  ledger::kHeadMalformed};
  }
  proof.leaf_index = place.leaf_index;
  proof.cluster_size = cluster.checkpoint.size;
  proof.cluster_root = cluster.checkpoint.root;
  GCOORD_TRY(proof.head_inclusion,
             ledger::inclusion_proof(*cluster.reader, place.leaf_index, cluster.checkpoint.size));
  return {};
}

}  // namespace

Result<EntryProof> prove_entry(const LedgerAddress& place,
                               std::uint32_t shard_number,
                               std::uint64_t index,
                               const ProofTrust& trust) {
  // The shard first: the cluster log that is read after it has its head.
  GCOORD_TRY(const OpenLog shard, open_log(place, shard_number, trust));
  GCOORD_TRY(const OpenLog cluster, open_log(place, std::nullopt, trust));
  return prove_entry_of(shard, cluster, {shard_number, index});
}

Result<EntryProof> prove_entry_of(const OpenLog& shard, const OpenLog& cluster, EntryIndex at) {
  EntryProof proof{.shard = at.shard, .index = at.index, .checkpoint = cluster.note};
  GCOORD_TRY(proof.cluster, cluster_of(cluster.checkpoint.origin));
  proof.shard_size = shard.checkpoint.size;
  proof.shard_root = shard.checkpoint.root;
  GCOORD_TRY(proof.entry_inclusion,
             ledger::inclusion_proof(*shard.reader, at.index, shard.checkpoint.size));
  GCOORD_TRY(auto entries, shard.reader->entries(at.index, 1));
  proof.entry = std::move(entries.front());
  proof.decoded = server::record_facts(proof.entry);
  GCOORD_TRY_STATUS(prove_head(shard, cluster, proof));
  return proof;
}

Result<GrowthProof> prove_growth(const OpenLog& log, const std::string& older) {
  GCOORD_TRY(const ledger::SignedNote note, ledger::parse_note(older));
  GCOORD_TRY(const ledger::CheckpointNote from, ledger::parse_checkpoint_text(note.text));
  GrowthProof proof{.older = older, .newer = log.note, .consistency = {}};
  if (from.size <= log.checkpoint.size) {
    GCOORD_TRY(proof.consistency,
               ledger::consistency_proof(*log.reader, from.size, log.checkpoint.size));
  }
  return proof;
}

}  // namespace gcoord::cli
