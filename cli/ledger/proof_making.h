// Making proof files from a ledger: for an entry, up to the newest checkpoint of the cluster log;
// for the growth of a log, between two checkpoints.
//
// Everything that goes into a proof has been checked on the way (ledger/tiles/tile_reader.h), so
// what is made here verifies, or is not made. One thread.
#pragma once

#include "cli/ledger/proof_file.h"
#include "cli/ledger/source.h"

#include <cstdint>
#include <string>

namespace gcoord::cli {

// An entry among those of all shards.
struct EntryIndex {
  std::uint32_t shard = 0;
  std::uint64_t index = 0;  // From 0.
};

// Entry `index` of the shard (from 0). LedgerBeyond if it is not under a signed checkpoint yet, and
// HeadMalformed if the shard's checkpoint does not lead to where the cluster log has its head.
Result<EntryProof> prove_entry(const LedgerAddress& place,
                               std::uint32_t shard,
                               std::uint64_t index,
                               const ProofTrust& trust);

// The same of logs that are open: the cluster log was opened after the shard's.
Result<EntryProof> prove_entry_of(const OpenLog& shard, const OpenLog& cluster, EntryIndex at);

// That the log which is open grew from `older`, a signed note.
Result<GrowthProof> prove_growth(const OpenLog& log, const std::string& older);

}  // namespace gcoord::cli
