// A node's log of counted entries as its Merkle trees follow it (ledger/trees/follow.h).
//
// The record of an entry is what the ledger keeps of a common command: 54 bytes, so that its leaf
// is one block of SHA-256:
//
//   shard 4, kind 4 (0 no-op, 1 command), index 8, the command 16, its name 22
//
// all little-endian. Names are drawn from the command: random, and no constant that a compiler
// could hash beforehand. POD; host and device.
#pragma once

#include "chaos/device_turn/counting_service.h"
#include "common/hd.h"
#include "common/random.h"
#include "ledger/trees/follow.h"
#include "server/device_turn/pages.h"
#include "server/device_turn/trees.h"

#include <cstddef>
#include <cstdint>

namespace gcoord::chaos {

static_assert(ledger::kNoTree == server::kNoTurnTree);

inline constexpr std::uint32_t kRecordWords = (ledger::kOneBlockRecordBytes + 3) / 4;

// The last two bytes are not of the record.
struct CountedRecord {
  std::uint32_t word[kRecordWords];
};

GCOORD_HD inline CountedRecord record_of(std::uint32_t shard,
                                         std::uint64_t index,
                                         const CountedEntry& entry) {
  const std::uint64_t name = mix64(entry.word[0] + 1);
  const std::uint64_t more = mix64(entry.word[1] + 2);
  const std::uint64_t last = name ^ more << 1;
  return {{shard,
           CountingService::is_noop(entry) ? 0u : 1u,
           static_cast<std::uint32_t>(index),
           static_cast<std::uint32_t>(index >> 32),
           static_cast<std::uint32_t>(entry.word[0]),
           static_cast<std::uint32_t>(entry.word[0] >> 32),
           static_cast<std::uint32_t>(entry.word[1]),
           static_cast<std::uint32_t>(entry.word[1] >> 32),
           static_cast<std::uint32_t>(name),
           static_cast<std::uint32_t>(name >> 32),
           static_cast<std::uint32_t>(more),
           static_cast<std::uint32_t>(more >> 32),
           static_cast<std::uint32_t>(last),
           static_cast<std::uint32_t>(last >> 32)}};
}

struct CountedLog {
  server::LogPages<CountedEntry> pages;  // TurnNode::pages
  server::TurnTrees trees;
  std::uint64_t* end = nullptr;  // The host's word: not 0, leave.

  GCOORD_HD std::uint64_t decided(std::uint32_t shard) const { return trees.decided_to(shard); }

  GCOORD_HD void hashed(std::uint32_t shard, std::uint64_t size) const { trees.hash(shard, size); }

  // Leaf i is the entry of index i + 1.
  GCOORD_HD_FLAT Sha256Words leaf(std::uint32_t shard, std::uint64_t leaf_index) const {
    const std::uint64_t index = leaf_index + 1;
    // A row keeps its page while anything in it is not hashed.
    const std::size_t page = pages.of_row[shard] - 1;
    const std::size_t slot = page * pages.log_slots + (index & (pages.log_slots - 1));
    const CountedRecord record = record_of(shard, index, pages.log[slot]);
    return ledger::hash_leaf_words(reinterpret_cast<const std::byte*>(record.word),
                                   {.length = ledger::kOneBlockRecordBytes});
  }

  // Half of the log: the rest is for what is decided until the block comes by again.
  GCOORD_HD std::uint32_t pressing() const { return pages.log_slots / 2; }

  GCOORD_HD bool ends() const { return netcore::SystemOrder::peek(*end) != 0; }
};

}  // namespace gcoord::chaos
