// The bytes of lock names: chains of fixed blocks in the pool, kept for listing.
//
// The identity of a lock is its name hash; apply() never reads the bytes back. Host and device.
#pragma once

#include "common/assert.h"
#include "common/hd.h"
#include "locks/lock_command.h"
#include "locks/lock_table.h"

#include <cstdint>

namespace gcoord::locks {

inline constexpr std::uint32_t kNameBlocksMax =
    (kNameBytesMax + NameBlock::kBytes - 1) / NameBlock::kBytes;

GCOORD_HD constexpr std::uint32_t name_block_count(std::uint32_t name_bytes) {
  return (name_bytes + NameBlock::kBytes - 1) / NameBlock::kBytes;
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
  for (std::uint32_t count = 0; count < kNameBlocksMax && end > 0; ++count) {
    const std::uint32_t start = (end - 1) / NameBlock::kBytes * NameBlock::kBytes;
    const NameBlockRow row = tables.name_blocks.take();
    NameBlock& block = tables.name_blocks[row];
    for (std::uint32_t i = 0; i < NameBlock::kBytes && start + i < end; ++i) {
      block.bytes[i] = name[start + i];
    }
    block.next = first;
    first = row;
    end = start;
  }
  return first;
}

GCOORD_HD inline void release_name(const LockTables& tables, NameBlockRow first) {
  NameBlockRow row = first;
  for (std::uint32_t count = 0; count < kNameBlocksMax && row.value != 0; ++count) {
    const NameBlockRow next = tables.name_blocks[row].next;
    tables.name_blocks.give_back(row);
    row = next;
  }
}

// Copies the name out; `out` has room for name_bytes.
GCOORD_HD inline void load_name(const LockTables& tables,
                                NameBlockRow first,
                                std::uint32_t name_bytes,
                                char* out) {
  NameBlockRow row = first;
  for (std::uint32_t block = 0; block < kNameBlocksMax && row.value != 0; ++block) {
    const std::uint32_t start = block * NameBlock::kBytes;
    for (std::uint32_t i = 0; i < NameBlock::kBytes && start + i < name_bytes; ++i) {
      out[start + i] = tables.name_blocks[row].bytes[i];
    }
    row = tables.name_blocks[row].next;
  }
}

}  // namespace gcoord::locks
