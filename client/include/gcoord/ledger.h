// Ledger pruning: the request to a node to discard old entries, and the result (gcoordctl ledger
// prune).
//
// A number that bounds nothing is 0; at least one is to be given. Entries go oldest first, in steps
// of 256, and never those that the node may need to recover. Plain values; no thread rules.
//
//  auto pruned = client.prune_ledger(1, {.entries_kept = 1'000'000});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::client {

// Request of Client::prune_ledger. Several bounds may be combined; the tightest applies. GC8211
// when no bound is given, or when a bound does not fit the chosen log.
struct LedgerPruning {
  bool cluster_log = false;            // The published heads, else the entries of shards.
  std::optional<std::uint32_t> shard;  // None: all. Not of the cluster log.
  std::uint64_t below_index = 0;       // Those with a smaller index; of one shard.
  std::uint64_t entries_kept = 0;      // Of each log, the newest.
  // The newest entries of each log, up to this number of bytes, stay.
  std::uint64_t bytes_kept = 0;
  std::uint64_t age_ms = 0;  // Those that are older; not of the cluster log.
};

// Result of a pruning that one node has finished: the entries are gone for good.
struct LedgerPruned {
  std::uint64_t logs = 0;     // That were looked at.
  std::uint64_t entries = 0;  // That this order let go of.
  std::uint64_t kept = 0;     // Of these logs, afterwards.
  std::uint64_t damaged = 0;  // Logs that cannot be read, and were left as they are.
};

// What Client::prune_orders does. Never renumber: they are in requests.
enum class PruneOrderAction : std::uint8_t {
  List = 0,  // Changes nothing.
  Order = 1,
  Confirm = 2,  // By another person than the one that ordered it.
  Cancel = 3,
};

// Argument of Client::prune_orders.
struct PruneOrderChange {
  PruneOrderAction action = PruneOrderAction::List;
  LedgerPruning pruning;  // By which an order is known; not of List.
};

// An order to prune. While rights are checked nodes prune by it once somebody has confirmed it, or
// once the delay of the node is over, until it ends.
struct LedgerPruneOrder {
  LedgerPruning pruning;
  std::string who;
  std::uint64_t ordered_ms = 0;  // Unix times in milliseconds.
  std::string confirmed_by;      // Empty: nobody yet.
  std::uint64_t confirmed_ms = 0;
  std::uint64_t until_ms = 0;
};

// All orders that have not ended.
struct PruneOrdersReport {
  std::uint64_t epoch = 0;     // Of limits, with which they are kept.
  std::uint64_t delay_ms = 0;  // Of the node that answered (--ledger-prune-delay).
  std::vector<LedgerPruneOrder> orders;
};

}  // namespace gcoord::client
