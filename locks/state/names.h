// The bytes of lock names: chains of fixed blocks in the pool, kept for listing.
//
// The identity of a lock is its name hash; apply() never reads the bytes back. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/commands/command.h"
#include "locks/state/table.h"

#include <cstdint>

namespace gcoord::locks {

inline constexpr std::uint32_t kNameBlocksMax =
    (kNameBytesMax + NameBlock::kBytes - 1) / NameBlock::kBytes;

GCOORD_HD constexpr std::uint32_t name_block_count(std::uint32_t name_bytes) {
  return (name_bytes + NameBlock::kBytes - 1) / NameBlock::kBytes;
}

// Up to NameBlock::kBytes bytes of a name as words, the rest of them zero. Loads do not wait for
// each other.
GCOORD_HD inline NameBlock make_name_block(const char* bytes, std::uint32_t byte_count) {
  NameBlock block;
  GCOORD_UNROLL
  for (std::uint32_t i = 0; i < NameBlock::kBytes; ++i) {
    const auto byte = static_cast<unsigned char>(i < byte_count ? bytes[i] : 0);
    block.words[i / 4] |= static_cast<std::uint32_t>(byte) << (i % 4 * 8);
  }
  return block;
}

// Copies a name of 1 to kNameBytesMax bytes into the pool; returns its first block.
GCOORD_HD inline NameBlockRow store_name(const LockTables& tables,
                                         const char* name,
                                         std::uint32_t name_bytes) {
  GCOORD_ASSERT(name_bytes > 0);
  GCOORD_ASSERT(name_bytes <= kNameBytesMax);
  NameBlockRow first;
  // Last block first, so that each block can name its follower.
  std::uint32_t end = name_bytes;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t count = 0; count < kNameBlocksMax && end > 0; ++count) {
    const std::uint32_t start = (end - 1) / NameBlock::kBytes * NameBlock::kBytes;
    NameBlock block = make_name_block(name + start, end - start);
    block.next = first.value != 0 ? first.value : NameBlock::kEnd | (end - start);
    first = tables.name_blocks.take();
    tables.name_blocks[first] = block;
    end = start;
  }
  return first;
}

GCOORD_HD inline void release_name(const LockTables& tables, NameBlockRow first) {
  NameBlockRow row = first;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t count = 0; count < kNameBlocksMax; ++count) {
    const std::uint32_t next = tables.name_blocks[row].next;
    tables.name_blocks.give_back(row);
    if ((next & NameBlock::kEnd) != 0) {
      return;
    }
    row = NameBlockRow{next};
  }
}

// The first block of a lock's name.
GCOORD_HD inline NameBlockRow name_of(const LockTables& tables, const LockRecord& lock) {
  const NameBlockRow first{lock.name_first.value & ~kNameMarked};
  return is_marked(lock) ? NameBlockRow{tables.name_blocks[first].next} : first;
}

// Copies the name out; `out` has room for kNameBytesMax bytes. Returns how many they are.
GCOORD_HD inline std::uint32_t load_name(const LockTables& tables, NameBlockRow first, char* out) {
  NameBlockRow row = first;
  std::uint32_t byte_count = 0;
  GCOORD_UNROLL_BY(1)
  for (std::uint32_t count = 0; count < kNameBlocksMax; ++count) {
    const NameBlock& block = tables.name_blocks[row];
    const bool last = (block.next & NameBlock::kEnd) != 0;
    const std::uint32_t held = last ? block.next & ~NameBlock::kEnd : NameBlock::kBytes;
    for (std::uint32_t i = 0; i < held && i < NameBlock::kBytes; ++i) {
      out[byte_count + i] = static_cast<char>(block.words[i / 4] >> (i % 4 * 8));
    }
    byte_count += held;
    if (last) {
      return byte_count;
    }
    row = NameBlockRow{block.next};
  }
  return byte_count;
}

}  // namespace gcoord::locks
