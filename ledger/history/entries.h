// Decided entries on their way into history: a batch of any shards, each shard's in log order.
//
// Filled by one thread, then shared and never changed: it lies with whoever hashes it, and stays
// until what it holds is in the store.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gcoord::ledger {

// A batch that reached one of these is full.
inline constexpr std::size_t kBatchEntriesMax = 8192;
inline constexpr std::size_t kBatchBytesMax = std::size_t{1} << 20;
// The longest entry: a command of 2 KiB with room for its header.
inline constexpr std::size_t kEntryBytesMax = 4096;

struct HistoryEntry {
  std::uint32_t shard = 0;
  std::uint32_t length = 0;
  std::uint64_t index = 0;   // Of the leaf, from 0.
  std::uint64_t offset = 0;  // In the payload; a multiple of 4.
};

struct HistoryEntries {
  std::vector<HistoryEntry> entries;
  std::vector<std::byte> payload;

  void add(ShardId shard, std::uint64_t index, std::span<const std::byte> bytes) {
    entries.push_back(
        {shard.value, static_cast<std::uint32_t>(bytes.size()), index, payload.size()});
    payload.insert(payload.end(), bytes.begin(), bytes.end());
    payload.resize((payload.size() + 3) / 4 * 4);
  }

  std::span<const std::byte> bytes_of(const HistoryEntry& entry) const {
    return std::span{payload}.subspan(entry.offset, entry.length);
  }

  // Makes room for about as much as another batch has, so that a batch like it does not grow by
  // steps.
  void reserve_as(const HistoryEntries& other) {
    entries.reserve(other.entries.size() + other.entries.size() / 4);
    payload.reserve(other.payload.size() + other.payload.size() / 4);
  }

  bool full() const {
    return entries.size() >= kBatchEntriesMax || payload.size() >= kBatchBytesMax;
  }
};

}  // namespace gcoord::ledger
