// Watching a log: whether each checkpoint that is shown continues the last one that was seen.
//
// What was seen last is kept in a file, so that a watcher that comes back does not forget. When a
// log contradicts itself, both checkpoints are kept as evidence beside that file, as a growth proof
// (proof_file.h) that `verify` refuses for the same reason. One thread.
#pragma once

#include "cli/ledger/source.h"

#include <cstdint>
#include <optional>
#include <string>

namespace gcoord::cli {

struct WatchedLog {
  LedgerAddress place;
  std::optional<std::uint32_t> shard;
  ProofTrust trust;
  std::string state_file;
};

struct Sighting {
  ledger::CheckpointNote checkpoint;
  std::uint64_t size_before = 0;  // Of the one seen last; 0: none was.
  bool news = false;              // Another one than last time.
};

// Looks once. WatchState if the file cannot be read; ProofBackwards, ProofSplit, ProofRoot and the
// like, with the name of the evidence file, if the log contradicts what was seen.
Result<Sighting> look_at(const WatchedLog& log);

}  // namespace gcoord::cli
