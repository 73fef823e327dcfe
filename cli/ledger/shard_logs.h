// The logs of a ledger's shards, each opened when it is needed, at the checkpoint that is newest
// then, and read once: what was read stays in memory up to a bound.
//
// Everything is checked up to the checkpoints, as by any reader (ledger/tiles/tile_reader.h). How
// many shards there are is the word of the server. One thread.
#pragma once

#include "cli/ledger/proof_check.h"
#include "cli/ledger/source.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gcoord::cli {

class ShardLogs {
 public:
  // The index of an entry and its bytes. False ends the walk.
  using Visit = std::function<bool(std::uint64_t, const std::vector<std::byte>&)>;

  // Asks the server how many shards it has.
  static Result<ShardLogs> open(const LedgerAddress& address, const ProofTrust& trust);

  // Nothing where the ledger does not say: an export, or a node of a release before this one.
  const std::optional<std::uint32_t>& count() const { return count_; }

  // All shards that have a log. Opens them all; without count() it tries one number after the other
  // until several in a row have none, since exports may have gaps.
  Result<std::vector<std::uint32_t>> all();

  // nullptr: the ledger has no log of the shard, or not yet.
  Result<const OpenLog*> log(std::uint32_t shard);

  // The log of a shard that was opened.
  const OpenLog& opened(std::uint32_t shard) const { return *logs_.at(shard); }

  // Visits the entries of a shard that has a log, from an index on. How many of them are not kept
  // any more, which are passed over.
  Result<std::uint64_t> walk(std::uint32_t shard, std::uint64_t from, const Visit& visit);

 private:
  using Bundle = std::vector<std::vector<std::byte>>;

  ShardLogs(LedgerAddress address, ProofTrust trust)
      : address_(std::move(address)), trust_(std::move(trust)) {}

  Status ask_count();
  Result<const Bundle*> bundle(std::uint32_t shard, std::uint64_t first);

  LedgerAddress address_;
  ProofTrust trust_;
  std::optional<std::uint32_t> count_;
  std::map<std::uint32_t, std::optional<OpenLog>> logs_;  // Nothing: there is none.
  std::map<std::pair<std::uint32_t, std::uint64_t>, Bundle> kept_;
  std::size_t kept_bytes_ = 0;
  Bundle last_;  // Beyond the bound.
};

}  // namespace gcoord::cli
