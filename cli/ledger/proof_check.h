// Offline verification of a proof file by a user who trusts only some keys.
//
// Every step is checked from the entry up: what it decodes to, its inclusion in the shard's tree,
// the head's inclusion in the cluster log, the checkpoint's log and signatures. Each way to be
// wrong has its own number, and the message names the part of the file. A checkpoint that many
// proofs share is verified once. One thread.
#pragma once

#include "cli/ledger/proof_file.h"
#include "ledger/notes/checkpoint_note.h"
#include "ledger/notes/note_key.h"

#include <cstddef>
#include <string>
#include <vector>

namespace gcoord::cli {

struct ProofTrust {
  std::vector<ledger::NoteKey> keys;
  std::size_t quorum = 1;
  std::string origin;  // Of the cluster whose logs are believed; empty: what the file names.
};

// A majority of the keys, as it is of a cluster's nodes.
std::size_t majority_of(std::size_t keys);

// The origin of the cluster whose nodes' keys these are ("gcoord/7"); empty if their names say
// otherwise.
std::string origin_of_keys(const std::vector<ledger::NoteKey>& keys);

class ProofChecker {
 public:
  explicit ProofChecker(ProofTrust trust) : trust_(std::move(trust)) {}

  Status check(const ReadProof& read);

 private:
  Status check_proof(const EntryProof& proof);
  Status check_proof(const GrowthProof& proof);
  Status check_proof(const NotedProof& proof);
  Result<ledger::CheckpointNote> believed(const std::string& note, const std::string& origin);

  ProofTrust trust_;
  std::string note_;  // The last one that was believed, of the log origin_.
  std::string origin_;
  ledger::CheckpointNote checkpoint_;
};

}  // namespace gcoord::cli
