// Payloads of the request to let go of old entries of the ledger (ledger/history/pruning.h).
//
// It is about one node: each keeps a ledger of its own. Numbers that bound nothing are 0, and at
// least one of them is not. Answered when what is let go of is let go of for good, so an answer may
// take as long as the node has to look through all of its shards. Pure functions; thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcoord {
class ByteReader;
}

namespace gcoord::protocol {

// Which trees; never renumber.
enum class LedgerLog : std::uint8_t {
  Shards = 0,   // Of one shard, or of all.
  Cluster = 1,  // The cluster log: the published heads of all shards.
};

struct LedgerPrune {
  LedgerLog log = LedgerLog::Shards;
  std::uint32_t shard = 0;    // kAllShards: every one. 0 of the cluster log.
  std::uint64_t below = 0;    // Entries with a smaller index may go.
  std::uint64_t entries = 0;  // So many of the newest are kept, of each log.
  std::uint64_t bytes = 0;
  std::uint64_t age_ms = 0;  // Of shards only: heads do not say when they were published.
};

// What became of it.
struct LedgerPruned {
  std::uint64_t logs = 0;     // That were looked at.
  std::uint64_t entries = 0;  // That this order let go of.
  std::uint64_t kept = 0;     // Of these logs, afterwards.
  std::uint64_t damaged = 0;  // Logs that could not be read, and were left as they are.
};

std::vector<std::byte> encode_ledger_prune(const LedgerPrune& order);
// Its fields as they stand, not judged: for payloads that have one among others.
LedgerPrune read_ledger_prune(ByteReader& reader);
// PayloadMalformed for what cannot be read, LedgerPruneInvalid for what asks for nothing.
Result<LedgerPrune> decode_ledger_prune(std::span<const std::byte> payload);

// "all shards, entries 1000, age_ms 5": for logs and audits.
std::string prune_text(const LedgerPrune& order);

std::vector<std::byte> encode_ledger_pruned(const LedgerPruned& pruned);
Result<LedgerPruned> decode_ledger_pruned(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
