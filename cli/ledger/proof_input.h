// Hashes and proofs as people and programs write them.
//
//   hash    64 hex digits, or the 32 bytes in base64 (RFC 4648 section 4; padding may be left out)
//   proof   HASH,HASH,... from the leaf up; empty for a proof without hashes
//
// Pure; thread-safe.
#pragma once

#include "common/status.h"
#include "ledger/merkle/hash.h"

#include <string>
#include <vector>

namespace gcoord::cli {

// ProofMalformed, with `flag` and what cannot be read.
Result<ledger::MerkleHash> parse_hash(const std::string& flag, const std::string& text);

// ProofMalformed as above; ProofOversized before any hash of a proof that is too long is read.
Result<std::vector<ledger::MerkleHash>> parse_proof(const std::string& flag,
                                                    const std::string& text);

}  // namespace gcoord::cli
