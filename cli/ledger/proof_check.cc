#include "cli/ledger/proof_check.h"

#include "common/assert.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/proof.h"
#include "ledger/notes/shard_head.h"
#include "ledger/tiles/hidden_entry.h"

#include <variant>

namespace gcoord::cli {
namespace {

Status contradiction(const std::string& why) {
  return Status{StatusCode::DataLoss, why, ledger::kProofFileContradiction};
}

// A failure with the part of the file that it is about.
Status at(const char* place, const Status& status) {
  return status.ok()
             ? status
             : Status{status.code(), std::string{place} + ": " + status.message(), status.detail()};
}

Status check_entry(const EntryProof& proof) {
  if (server::record_facts(proof.entry) != proof.decoded) {
    return contradiction("/entry/decoded contradicts /entry/bytes");
  }
  if (is_hidden(proof) && proof.shard != ledger::kHidingShard) {
    return Status{StatusCode::DataLoss,
                  "/entry/bytes stand for a hidden entry, which this shard has none of",
                  ledger::kEntryHash};
  }
  return at("/shard_head/inclusion",
            ledger::verify_inclusion({.leaf_index = proof.index,
                                      .tree_size = proof.shard_size,
                                      .leaf = ledger::leaf_of_entry(proof.entry),
                                      .root = proof.shard_root},
                                     proof.entry_inclusion));
}

Status check_head(const EntryProof& proof) {
  const auto head = ledger::encode_head({ShardId{proof.shard}, proof.shard_size, proof.shard_root});
  return at("/cluster_log/inclusion",
            ledger::verify_inclusion({.leaf_index = proof.leaf_index,
                                      .tree_size = proof.cluster_size,
                                      .leaf = ledger::hash_leaf(head),
                                      .root = proof.cluster_root},
                                     proof.head_inclusion));
}

}  // namespace

std::size_t majority_of(std::size_t keys) {
  return keys / 2 + 1;
}

std::string origin_of_keys(const std::vector<ledger::NoteKey>& keys) {
  std::string origin;
  for (const ledger::NoteKey& key : keys) {
    const std::size_t node = key.name().find("/node/");
    const std::string of_key = node == key.name().npos ? "" : key.name().substr(0, node);
    if (of_key.empty() || (!origin.empty() && of_key != origin)) {
      return {};
    }
    origin = of_key;
  }
  return origin;
}

Result<ledger::CheckpointNote> ProofChecker::believed(const std::string& note,
                                                      const std::string& origin) {
  if (note != note_ || origin != origin_) {
    GCOORD_TRY(checkpoint_,
               ledger::open_checkpoint(
                   note, {.keys = trust_.keys, .quorum = trust_.quorum, .origin = origin}));
    note_ = note;
    origin_ = origin;
  }
  return checkpoint_;
}

Status ProofChecker::check_proof(const EntryProof& proof) {
  GCOORD_TRY_STATUS(check_entry(proof));
  GCOORD_TRY_STATUS(check_head(proof));
  const std::string origin = ledger::cluster_origin(proof.cluster);
  if (!trust_.origin.empty() && trust_.origin != origin) {
    return Status{StatusCode::DataLoss,
                  "/cluster: the proof is of " + origin + ", the keys are of " + trust_.origin,
                  ledger::kHeadOrigin};
  }
  const auto checkpoint = believed(proof.checkpoint, origin);
  if (!checkpoint.ok()) {
    return at("/checkpoint", checkpoint.status());
  }
  if (checkpoint.value().size != proof.cluster_size ||
      checkpoint.value().root != proof.cluster_root) {
    return contradiction("/cluster_log and /checkpoint are of different trees");
  }
  return {};
}

Status ProofChecker::check_proof(const GrowthProof& proof) {
  GCOORD_TRY(const ledger::SignedNote note, ledger::parse_note(proof.newer));
  GCOORD_TRY(const ledger::CheckpointNote named, ledger::parse_checkpoint_text(note.text));
  const bool of_shard = named.origin.starts_with(trust_.origin + "/shard/");
  const std::string origin = trust_.origin.empty() || of_shard ? named.origin : trust_.origin;
  const auto older = believed(proof.older, origin);
  if (!older.ok()) {
    return at("/older", older.status());
  }
  const auto newer = believed(proof.newer, origin);
  if (!newer.ok()) {
    return at("/newer", newer.status());
  }
  return at("/consistency",
            ledger::verify_consistency({.old_size = older.value().size,
                                        .size = newer.value().size,
                                        .old_root = older.value().root,
                                        .root = newer.value().root},
                                       proof.consistency));
}

Status ProofChecker::check_proof(const NotedProof& proof) {
  GCOORD_TRY_STATUS(at("/proof", check_proof(proof.entry)));
  GCOORD_TRY_STATUS(at("/note", check_proof(proof.note)));
  if (is_hidden(proof.entry) || is_hidden(proof.note)) {
    return contradiction("an entry with a note, and a note, are never hidden");
  }
  const bool same = proof.entry.cluster == proof.note.cluster &&
                    fact_of(proof.note.decoded, "kind") == "session_note" &&
                    is_of_session(proof.entry.decoded, fact_of(proof.note.decoded, "session"));
  return same ? Status{} : contradiction("/note is not of the session of /proof");
}

Status ProofChecker::check(const ReadProof& read) {
  GCOORD_ASSERT(trust_.quorum >= 1);
  GCOORD_TRY_STATUS(std::visit([this](const auto& each) { return check_proof(each); }, read.proof));
  return read.digest_fits ? Status{} : contradiction("/digest does not match the rest of the file");
}

}  // namespace gcoord::cli
