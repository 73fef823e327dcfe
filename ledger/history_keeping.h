// How much of its history a node keeps, and the background work of letting go of the rest.
//
// A policy bounds each shard by count, bytes or age of its entries; what exceeds any bound is
// pruned, oldest first, by whole tiles of 256 entries (history.h). So a shard keeps up to a tile
// more than it must, and one with less than two tiles keeps all. Age is what entries say of
// themselves; a tile whose entries say nothing is as old as the one before it.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/history.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::ledger {

// Of a shard; 0 bounds nothing.
struct KeepPolicy {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t age_ms = 0;

  bool keeps_all() const { return entries == 0 && bytes == 0 && age_ms == 0; }

  friend bool operator==(const KeepPolicy& a, const KeepPolicy& b) = default;
};

// "all", or bounds with commas between: entries:N, bytes:N[KiB|MiB|GiB|TiB], age:N(s|m|h|d).
// InvalidArgument says what is wrong.
Result<KeepPolicy> parse_keep_policy(std::string_view text);
// The same back.
std::string keep_policy_text(const KeepPolicy& policy);

class HistoryKeeper {
 public:
  struct Clues {
    // Unix milliseconds that an entry says of itself; 0: nothing.
    std::function<std::uint64_t(std::span<const std::byte>)> entry_ms;
    // Entries from here on may be needed to recover; empty: none are.
    std::function<std::uint64_t(ShardId)> floor;
  };

  HistoryKeeper(const KeepPolicy& policy, Clues clues)
      : policy_(policy), clues_(std::move(clues)) {}

  // Looks at the next shards, a bounded number of them. A failure is the store's.
  Status advance(History& history, std::uint64_t now_ms);

 private:
  Result<std::uint64_t> first_to_keep(const History& history,
                                      ShardId shard,
                                      std::uint64_t now_ms) const;
  Result<std::uint64_t> first_young(const History& history,
                                    ShardId shard,
                                    std::uint64_t now_ms) const;

  KeepPolicy policy_;
  Clues clues_;
  std::uint32_t next_ = 0;
};

}  // namespace gcoord::ledger
