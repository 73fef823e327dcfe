// Re-hashing a log: every entry, every tile, up to the checkpoint, and everything that is wrong,
// not only the first of it. One thread.
#pragma once

#include "cli/ledger/source.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::cli {

struct LedgerFault {
  std::string log;  // "" or "shard/3".
  std::uint32_t detail = 0;
  std::string what;  // Names the entry, the tile or the checkpoint.
};

struct FsckReport {
  std::uint64_t logs = 0;
  std::uint64_t entries = 0;       // Hashed and right.
  std::uint64_t unread = 0;        // Of these, what says nothing to this release.
  std::uint64_t hidden = 0;        // Given as stand-ins, for want of a right; their hashes fit.
  std::uint64_t pruned = 0;        // Gone below the horizon; their hashes were checked.
  std::uint64_t heads_pruned = 0;  // Published heads of trees that end below the horizon.
  // Logs that were not checked: what is served of them begins inside a tile, since their beginning
  // came to the node as a snapshot.
  std::uint64_t unkept = 0;
  bool cluster_alone = false;  // An export of the cluster log, without the log of any shard.
  std::vector<LedgerFault> faults;
};

// One log.
void check_log(const LedgerAddress& place,
               std::optional<std::uint32_t> shard,
               const ProofTrust& trust,
               FsckReport& report);

// The cluster log, every shard that it has a head of, and that each head is one of its shard's
// trees. Of an export that has no shard at all, the cluster log alone.
void check_ledger(const LedgerAddress& place, const ProofTrust& trust, FsckReport& report);

}  // namespace gcoord::cli
